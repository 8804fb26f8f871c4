"""What the plots of the notebooks call; a method that they misspell fails."""


class Axes:
    def set_title(self, title):
        assert isinstance(title, str)

    def set_axis_off(self):
        pass

    def imshow(self, rows):
        assert len({len(row) for row in rows}) == 1

    def text(self, x, y, text, **options):
        assert isinstance(text, str)


def subplots(rows, columns, figsize):
    return None, [Axes() for _ in range(rows * columns)]


def show():
    pass
