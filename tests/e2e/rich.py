"""A conversation with everything an answer can hold, brought in through the product's own page."""

from __future__ import annotations

import json

from playwright.async_api import Page

TITLE = "Sınıf listesi ve küçük bir hesap"
ANSWER = """\
## Önce kısaca

Gider **%12** arttı; ayrıntılar aşağıda.[^1] Bir adres: <https://example.org/rapor>.

| Birim | 2025 (₺) | 2026 (₺) | Açıklama |
| :--- | ---: | ---: | --- |
| Eczane | 1.200.000 | 1.344.000 | Fiyat artışı ve yeni başlayan iki ilaç programı |
| Laboratuvar | 830.000 | 811.500 | Cihaz bakımı ertelendi |

- [x] Veriler toplandı
- [ ] Onay bekliyor
  1. Önce servis
  2. Sonra *müdürlük*

> Ölçülmeyen şey yönetilemez.

```python
def artış(önce: float, sonra: float) -> float:
    \"\"\"Yüzde olarak.\"\"\"
    return (sonra - önce) / önce * 100  # %12
```

Formül satır içinde $p = \\frac{s - ö}{ö}$, ve ayrı:

$$\\sum_{k=1}^{n} k = \\frac{n(n+1)}{2}$$

$5 ile $6 para, formül değil. `satır içi kod` ve çok uzun bir sözcük: \
muvaffakiyetsizleştiricileştiriveremeyebileceklerimizdenmişsinizcesine.

[^1]: Kaynak: iç rapor.
"""

THOUGHTS = """\
<details type="reasoning" done="true" duration="12">
<summary>Thought for 12 seconds</summary>
> Önce giderleri toplayayım.
>
> 1. Eczane: **%12** artmış
> 2. Laboratuvar düşmüş
</details>
"""


def exported() -> bytes:
    """As another product would have exported it: two versions of the answer, and one in Arabic."""
    messages = [
        {"id": "q1", "parentId": None, "role": "user", "content": "Giderleri bir tabloda göster."},
        {"id": "a1", "parentId": "q1", "role": "assistant", "content": "Olmaz.", "model": "eski"},
        {
            "id": "a2",
            "parentId": "q1",
            "role": "assistant",
            "content": THOUGHTS + ANSWER,
            "model": "yeni",
        },
        {"id": "q2", "parentId": "a2", "role": "user", "content": "اكتب لي جملة قصيرة من فضلك."},
        {
            "id": "a3",
            "parentId": "q2",
            "role": "assistant",
            "content": "الماء حياة.",
            "model": "yeni",
        },
    ]
    for second, message in enumerate(messages):
        message["timestamp"] = 1_760_000_000 + second
    history = {"messages": {message["id"]: message for message in messages}}
    return json.dumps([{"id": "rich", "title": TITLE, "chat": {"history": history}}]).encode()


async def bring_in(page: Page, url: str) -> str:
    """Import it for whoever is signed in on ``page``; returns the path of the conversation."""
    await page.goto(f"{url}/conversations/import/")
    file = {"name": "chats.json", "mimeType": "application/json", "buffer": exported()}
    await page.locator("input[type=file]").set_input_files(file)
    await page.locator("main form button.primary").click()
    await page.locator("main .facts").wait_for()
    await page.goto(url + "/")
    # Not clicked: on a narrow page the list is in a drawer.
    path = await page.locator("nav.conversations a", has_text=TITLE).first.get_attribute("href")
    await page.goto(f"{url}{path}")
    await page.locator("article.answer").first.wait_for()
    return page.url.removeprefix(url)
