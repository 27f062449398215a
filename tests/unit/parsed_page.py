"""What a test reads of a page: its tags, its attributes and its text."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """The tags, the attributes and the text of a page; tags must nest."""

    EMPTY = ("meta", "br", "path", "use", "rect", "circle", "link", "img")

    def __init__(self, text):
        super().__init__()
        self.tags, self.values, self.words, self.open = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.values += [(name, value) for name, value in attrs]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.values += [(name, value) for name, value in attrs]

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "svg"} & set(self.open):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())
