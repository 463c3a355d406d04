/** Secrets from standard input, out of sight of process lists and shell histories. */
import { createInterface } from 'node:readline'

/** The first line of standard input; typed at a terminal, it is not shown. */
export async function readPassword(): Promise<string> {
  if (process.stdin.isTTY) {
    process.stderr.write('Password: ')
    process.stdin.setRawMode(true)
  }
  try {
    return process.stdin.isTTY ? await readHidden() : await readLine()
  } finally {
    if (process.stdin.isTTY) {
      process.stdin.setRawMode(false)
      process.stderr.write('\n')
    }
  }
}

async function readLine(): Promise<string> {
  const lines = createInterface({ input: process.stdin })
  for await (const line of lines) return line
  return ''
}

async function readHidden(): Promise<string> {
  let typed = ''
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    for (const character of chunk.toString('utf8')) {
      if (character === '\r' || character === '\n') return typed
      if (character === '\u0003') process.exit(130)
      typed = character === '\u007f' || character === '\b' ? typed.slice(0, -1) : typed + character
    }
  }
  return typed
}
