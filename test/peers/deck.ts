/** Deck's core, as far as the plug-in uses it: names, and for classes what they offer without an instance. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Deck {
  readonly peer: string
  readonly version: string
  readonly core: Readonly<Record<string, { readonly static?: readonly string[] }>>
}

/** The newest first. */
export const decks = (
  JSON.parse(readFileSync(join(import.meta.dirname, 'deck.json'), 'utf8')) as { peers: Deck[] }
).peers
