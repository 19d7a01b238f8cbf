"""What a browser would find in rendered Markdown that must not be there, and texts that try."""

from __future__ import annotations

import re
from html.parser import HTMLParser

TAGS = {
    "a", "blockquote", "br", "code", "del", "div", "em", "figcaption", "figure", "h3", "h4", "h5",
    "h6", "hr", "li", "ol", "p", "pre", "s", "section", "span", "strong", "sup", "table", "tbody",
    "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"class", "dir", "href", "rel", "start", "tabindex"}
MATHS = {
    "math", "menclose", "mfrac", "mi", "mn", "mo", "mover", "mpadded", "mphantom", "mroot", "mrow",
    "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr",
    "munder", "munderover",
}  # fmt: skip
MATHS_ATTRIBUTES = {
    "accent", "accentunder", "alttext", "columnalign", "columnlines", "depth", "display",
    "displaystyle", "fence", "form", "height", "largeop", "linethickness", "lspace", "mathvariant",
    "maxsize", "minsize", "movablelimits", "notation", "rowlines", "rspace", "scriptlevel",
    "stretchy", "voffset", "width",
}  # fmt: skip

ATTACKS = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example></SCRIPT>",
    "<scr<script>ipt>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<a href='javascript:alert(1)'>x</a>",
    "<div style='background:url(//evil.example)'>x</div>",
    "<form action=//evil.example><button>x</button></form>",
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<link rel=stylesheet href=//evil.example>",
    "<div hx-get='/accounts/sign-out/' hx-trigger='load'>x</div>",
    "<div data-hx-on:load='alert(1)' hx-vals='js:alert(1)'>x</div>",
    "<div id='composer' class='composer'>x</div>",
    "<template><script>alert(1)</script></template>",
    "<!--><script>alert(1)</script>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](vbscript:msgbox)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](file:///etc/passwd)",
    "[x](blob:http://evil.example/1)",
    "[x](//evil.example)",
    "[x](/accounts/sign-out/)",
    "[x](?next=//evil.example)",
    "[x](#composer)",
    '[x](http://evil.example" onclick="alert(1))',
    "[x](<javascript:alert(1)>)",
    "[x][1]\n\n[1]: javascript:alert(1)",
    "<javascript:alert(1)>",
    '<http://evil.example/"onmouseover=alert(1)>',
    "![x](https://evil.example/pixel.png)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    "![x][1]\n\n[1]: https://evil.example/pixel.png",
    "[![x](https://evil.example/pixel.png)](https://evil.example)",
    "# <img src=x onerror=alert(1)>",
    "| <script>alert(1)</script> | b |\n|---|---|\n| <img src=x onerror=alert(1)> | ` <b> ` |",
    "```html\n<script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "```x onload=alert(1) class=y\nx\n```",
    "`<script>alert(1)</script>`",
    "- <details open ontoggle=alert(1)>\n  - > <script>alert(1)</script>",
    '*[x](javascript:alert(1) "t")*',
    "a\0b<script>alert(1)</script>",
    "$x$<script>alert(1)</script>$y$",
    r"$\text{<script>alert(1)</script>}$",
    r"$\text{&#x3c;script&#x3e;alert(1)&#x3c;/script&#x3e;}$",
    r"\(\text{&lt;img src=x onerror=alert(1)&gt;}\)",
    r"$\mbox{$<img src=x onerror=alert(1)>$}$",
    r"$\href{javascript:alert(1)}{x}$",
    r"$\style{background:url(//evil.example)}{x}$",
    r"$\class{composer}{x}$",
    r"$\unicode{3cscript}$ $\unicode{x3c}script>$",
    r"$\operatorname{<img src=x onerror=alert(1)>}$",
    r"$\color{red' onclick='alert(1)}{x}$ $\rule{1em' onclick='x}{1em}$",
    r"$\begin{array}{c' onclick='alert(1)}a\end{array}$",
    r"$\verb|<script>alert(1)</script>|$",
    r"$\newcommand{\x}{<script>}\x$",
    "$$\n</math><script>alert(1)</script>\n$$",
    r"\[<annotation-xml encoding='text/html'><style><img src=x onerror=alert(1)></style>=\]",
    "$<mglyph><style></math><img src=x onerror=alert(1)>$",
    r"$\frac{<script>$ $x_{$",
    "x[^1]\n\n[^1]: <script>alert(1)</script>",
    "x[^1]\n\n[^1]: [x](javascript:alert(1)) $\\href{javascript:alert(1)}{x}$",
    "[^<script>]\n\n[^<script>]: x",
    "- [x] <script>alert(1)</script>\n- [ ] [x](javascript:alert(1))",
    "```<script>\nx\n```\n~~~'onclick=alert(1)\nx",
    "\u202e<script>alert(1)</script>",
]


class Audit(HTMLParser):
    """What a browser would find that must not be there."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.links: list[dict[str, str]] = []
        self._in_maths = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS | MATHS:
            self.found.append(tag)
        allowed = MATHS_ATTRIBUTES if tag in MATHS else ATTRIBUTES
        self.found += [name for name, _ in attrs if name not in allowed]
        self._open_maths(tag)
        if tag == "a":
            self.links.append({name: value or "" for name, value in attrs})

    def _open_maths(self, tag: str) -> None:
        """HTML inside of maths, or maths outside of it, takes a browser's parser out of step."""
        if tag == "math":
            self._in_maths = True
        elif (tag in MATHS) != self._in_maths:
            self.found.append(f"{tag} {'in' if self._in_maths else 'out of'} maths")

    def handle_endtag(self, tag: str) -> None:
        if tag == "math":
            self._in_maths = False

    def handle_comment(self, data: str) -> None:
        self.found.append("comment")


def harm(html: str) -> list[str]:
    found = Audit(html)
    schemes = [
        a["href"] for a in found.links if not re.match(r"https?:|mailto:|$", a.get("href", ""))
    ]
    return found.found + schemes
