/** A tar archive of small text files, as an upload of an image takes it. */

interface TextFile {
  /** At most 100 bytes. */
  readonly name: string
  readonly content: string
}

const blockBytes = 512

/** The same files make the same bytes: they have no time of their own. @see POSIX.1-1988, ustar */
export function toTar(files: readonly TextFile[]): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder()
  const entries = files.map(({ name, content }) => ({ name, bytes: encoder.encode(content) }))
  const lengths = entries.map(({ bytes }) => blockBytes + Math.ceil(bytes.length / blockBytes) * blockBytes)
  const archive = new Uint8Array(lengths.reduce((sum, length) => sum + length, 2 * blockBytes))
  let at = 0
  for (const [index, { name, bytes }] of entries.entries()) {
    archive.set(toHeader(name, bytes.length), at)
    archive.set(bytes, at + blockBytes)
    at += lengths[index] ?? 0
  }
  return archive
}

function toHeader(name: string, length: number): Uint8Array {
  const header = new Uint8Array(blockBytes)
  const write = (text: string, at: number) => header.set(new TextEncoder().encode(text), at)
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`
  write(name, 0)
  write(octal(0o644, 7), 100)
  write(octal(0, 7), 108)
  write(octal(0, 7), 116)
  write(octal(length, 11), 124)
  write(octal(0, 11), 136)
  // Its sum is computed with blanks in its own place.
  write('        ', 148)
  write('0', 156)
  write('ustar\x0000', 257)
  write(
    octal(
      header.reduce((sum, byte) => sum + byte, 0),
      6,
    ),
    148,
  )
  return header
}
