/** Guides, for tests that follow them word for word. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'

/** @param name Without the extension, as in `limits`. */
export function readGuide(name: string): string {
  return readFileSync(resolve(import.meta.dirname, `../../docs/guides/${name}.md`), 'utf8')
}

/** The code blocks of a page or a section of it, in order. @param language Empty for blocks without one. */
export function blocksOf(markdown: string, language: string): string[] {
  return [...markdown.matchAll(/^```(\w*)\n(.*?)^```/gms)]
    .filter(([, written]) => written === language)
    .map(([, , block = '']) => block)
}

/** The function `api` of the quick start by script, as written; its guides follow with it. @throws {Error} when the guide has none */
export function apiFunction(): string {
  const [definition] = /^api\(\).*?; }$/ms.exec(readGuide('by-script')) ?? []
  if (definition === undefined) throw new Error('docs/guides/by-script.md has no function api')
  return definition
}
