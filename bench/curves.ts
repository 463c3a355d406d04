/** Curves over time as an SVG, one diagram below the other. */

export interface Curve {
  readonly title: string
  /** Seconds and value. */
  readonly points: [seconds: number, value: number][]
}

const width = 800
const height = 160
const margin = 48

export function drawCurves(curves: readonly Curve[]): string {
  const diagrams = curves.map((curve, index) => drawCurve(curve, index * (height + margin) + margin))
  const total = curves.length * (height + margin) + margin
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width + 2 * margin} ${total}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="white"/>
${diagrams.join('\n')}
</svg>
`
}

function drawCurve({ title, points }: Curve, top: number): string {
  const known = points.filter(([, value]) => Number.isFinite(value))
  const lastSecond = Math.max(1, known.at(-1)?.[0] ?? 1)
  const most = Math.max(1, ...known.map(([, value]) => value)) * 1.1
  const x = (second: number) => (margin + (second / lastSecond) * width).toFixed(1)
  const y = (value: number) => (top + height - (value / most) * height).toFixed(1)
  const line = known.map(([second, value]) => `${x(second)},${y(value)}`).join(' ')
  const grid = [0, 0.5, 1].map((share) => {
    const level = (most / 1.1) * share
    return `<path d="M${margin} ${y(level)}H${margin + width}" stroke="#ddd"/><text x="${margin - 6}" y="${y(level)}" text-anchor="end">${Math.round(level)}</text>`
  })
  return `<text x="${margin}" y="${top - 8}" font-weight="bold">${title}, over ${Math.round(lastSecond)} s</text>
${grid.join('\n')}
<polyline points="${line}" fill="none" stroke="#1565c0" stroke-width="1.5"/>`
}
