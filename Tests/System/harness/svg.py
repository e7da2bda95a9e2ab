# SPDX-License-Identifier: Apache-2.0
"""The screen of a terminal as SVG: text that can be selected, on a background of its own."""

import html
import re

# Colours of terminals, by number, which have enough contrast on the background.
BACKGROUND, FOREGROUND, FAINT, BAR = "#16181d", "#d8dee9", "#8b93a1", "#22262e"
COLOURS = ["#4b5263", "#f47067", "#6bc46d", "#e0b045", "#6cb6ff", "#d2a8ff", "#56d4dd", "#d8dee9"]
FONT = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
# The size of a character of the font at 14 px, and of a line.
CELL, LINE = 8.43, 18


def runs(line):
    """The parts of a line of tmux with one style each, as (text, foreground, background, bold)."""
    colour, ground, bold, faint, inverse = None, None, False, False, False
    for part in re.split(r"(\x1b\[[\d;]*m)", line.replace("\x0e", "").replace("\x0f", "")):
        match = re.fullmatch(r"\x1b\[([\d;]*)m", part)
        if not match:
            shown = colour or (FAINT if faint else FOREGROUND)
            if part:
                yield (part, BACKGROUND, ground or shown, bold) if inverse else (part, shown, ground, bold)
            continue
        codes = [int(code or 0) for code in match[1].split(";")]
        while codes:
            code = codes.pop(0)
            if code == 0:
                colour, ground, bold, faint, inverse = None, None, False, False, False
            elif code in (1, 2, 7):
                bold, faint, inverse = bold or code == 1, faint or code == 2, inverse or code == 7
            elif code == 22:
                bold = faint = False
            elif code == 27:
                inverse = False
            elif 30 <= code <= 37 or 90 <= code <= 97:
                colour = COLOURS[code % 10]
            elif 40 <= code <= 47 or 100 <= code <= 107:
                ground = COLOURS[code % 10]
            elif code in (38, 48) and codes[:1] == [5]:
                number = codes[1] if len(codes) > 1 else 7
                codes = codes[2:]
                named = COLOURS[number % 8] if number < 16 else BAR
                colour, ground = (named, ground) if code == 38 else (colour, named)
            elif code == 39:
                colour = None
            elif code == 49:
                ground = None


def drawn(text, x, y, colour, bold=False, name="text"):
    """A text that has the width of its characters in a terminal, whichever font there is."""
    weight = ' font-weight="700"' if bold else ""
    return (f'<{name} x="{x:.1f}" y="{y:.1f}" fill="{colour}"{weight} textLength="{len(text) * CELL:.1f}" '
            f'lengthAdjust="spacingAndGlyphs">{html.escape(text)}</{name}>')


def frame(width, height, title, body, style=""):
    """An SVG with its own background."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" role="img">\n<title>{html.escape(title)}</title>\n'
            f'<style>text {{ font: 14px {FONT}; white-space: pre; }}{style}</style>\n'
            f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>\n{body}\n'
            f'<rect x=".5" y=".5" width="{width - 1:.0f}" height="{height - 1:.0f}" rx="7.5" fill="none" '
            f'stroke="{COLOURS[0]}"/>\n</svg>\n')


def terminal(lines, title):
    """A picture of a terminal."""
    body, margin = [], 14
    for row, line in enumerate(lines):
        column, y = 0, margin + row * LINE
        for text, colour, ground, bold in runs(line):
            if ground:
                body.append(f'<rect x="{margin + column * CELL:.1f}" y="{y}" width="{len(text) * CELL:.1f}" '
                            f'height="{LINE}" fill="{ground}"/>')
            for word in re.finditer(r"\S+(?: \S+)*", text):
                x = margin + (column + word.start()) * CELL
                body.append(drawn(word[0], x, y + 13.5, colour, bold))
            column += len(text)
    width = max(sum(len(text) for text, *_ in runs(line)) for line in lines)
    return frame(2 * margin + max(width, 100) * CELL, 2 * margin + len(lines) * LINE, title, "\n".join(body))
