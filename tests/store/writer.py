"""A process that writes to a store and says what was acknowledged, one line at a time, so that a test can kill it.

python writer.py STORE CONVERSATION append LABEL COUNT      append messages with the uids LABEL-0, LABEL-1, …
python writer.py STORE CONVERSATION fold LABEL COUNT        append one and commit a summary of all so far, each time
python writer.py STORE CONVERSATION turn LABEL COUNT        hold whole turns: open, user, answer, close
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from memcli.store import Store
from tests.store.samples import message, summary


def main(path: str, conversation_id: str, mode: str, label: str, count: int) -> None:
    """Write, and print each uid once it is stored."""
    with Store(path) as store:
        for number in range(count):
            uid = f"{label}-{number}"
            turn_id = store.turns.start(conversation_id).id if mode == "turn" else None
            stored = store.messages.append(conversation_id, [message(f"by {uid}", uid=uid)], turn_id=turn_id)
            if mode == "fold":
                head = store.summaries.head(conversation_id, "running")
                parent = head.id if head else None
                store.summaries.commit(conversation_id, summary(stored[0].id, parent=parent), expected_head=parent)
            if turn_id is not None:
                store.messages.append(conversation_id, [message("yes", "ai")], turn_id=turn_id)
                store.turns.close(conversation_id, turn_id, "done")
            print(uid, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
