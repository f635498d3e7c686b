"""The only SQL: one Store, a few verbs a noun, over one SQLite file.

    store.conversations   create, find, list, rename, fork, …
    store.turns           start, close, reopen, …
    store.messages        append, newest_first, after, mark, …
    store.summaries       commit, head, move_head, list, …
    store.calls           begin, finish, get, list
    store.plans  .pins    save, current · add, remove, list
    store.search(...)     full text
    store.check(...)      what doctor reports

The verbs are the seam: another engine can stand behind them, and the tests are written against them. Nothing of SQLite
(rowids, pragmas, its errors, its types) leaves this package. It refuses to know policy and LangChain.
"""

from memcli.store.store import Store

__all__ = ["Store"]
