"""Plots below each other, as SVG."""

WIDTH, HEIGHT, LEFT, GAP = 760, 130, 70, 50
COLOURS = ["#1f6feb", "#d1242f", "#1a7f37"]


def nice(value):
    """The next number above that people like to read."""
    step = 1.0
    while step * 10 < value:
        step *= 10
    while step > value and step > 1e-3:
        step /= 10
    for factor in (1, 1.5, 2, 3, 4, 5, 6, 8, 10):
        if step * factor >= value:
            return step * factor
    return value


def draw(plots, marks):
    """`plots`: title, rows with `minute`, and the columns by their names; `marks`: minute and words."""
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + LEFT + 30} {len(plots) * (HEIGHT + GAP) + 30}" '
           'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>']
    for place, (title, rows, columns) in enumerate(plots):
        top = 30 + place * (HEIGHT + GAP)
        end = max(row["minute"] for row in rows)
        most = nice(max(max(row[column] for row in rows) for column in columns.values()) or 1)

        def x(minute):
            return LEFT + WIDTH * minute / end

        def y(value):
            return top + HEIGHT * (1 - value / most)

        out.append(f'<text x="{LEFT}" y="{top - 8}" font-weight="bold">{title}</text>')
        for step in range(5):
            value = most * step / 4
            out.append(f'<path d="M{LEFT} {y(value):.1f}h{WIDTH}" stroke="#ddd"/>'
                       f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
        for step in range(7):
            minute = end * step / 6
            out.append(f'<text x="{x(minute):.1f}" y="{top + HEIGHT + 14}" text-anchor="middle">{minute:.3g} min</text>')
        for minute, words in marks:
            out.append(f'<path d="M{x(minute):.1f} {top}v{HEIGHT}" stroke="#888" stroke-dasharray="4 3"/>'
                       f'<text x="{x(minute) + 4:.1f}" y="{top + 10}" fill="#666">{words}</text>')
        for number, (name, column) in enumerate(columns.items()):
            colour = COLOURS[number % len(COLOURS)]
            points = " ".join(f"{x(row['minute']):.1f},{y(row[column]):.1f}" for row in rows)
            out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.3"/>')
            if len(columns) > 1:
                out.append(f'<text x="{LEFT + WIDTH - 90 * (len(columns) - number)}" y="{top - 8}" fill="{colour}">{name}</text>')
    out.append("</svg>\n")
    return "\n".join(out)
