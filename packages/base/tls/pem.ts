/** The blocks of a text in PEM. */

/**
 * Each block from the line that begins it to the line that ends it, both included.
 *
 * @param label Of the wanted blocks, such as `/^CERTIFICATE$/`
 * @see RFC 7468, section 2
 */
export function pemBlocks(text: string, label: RegExp): string[] {
  const blocks: string[] = []
  let open: { label: string; start: number } | undefined
  for (const { 0: line, 1: edge, 2: name = '', index } of text.matchAll(
    /-----(BEGIN|END) ([A-Z0-9 ]+)-----/g,
  )) {
    if (edge === 'END' && open?.label === name)
      blocks.push(text.slice(open.start, index + line.length))
    open = edge === 'BEGIN' && label.test(name) ? { label: name, start: index } : undefined
  }
  return blocks
}

export const certificateLabel = /^CERTIFICATE$/
