/** Definitions with their histories in a file: JSON lines, compressed with gzip. */
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { type JsonObject, objectOf, objectsOf } from '@fairlead/base/json/values.ts'
import { explainUnreadable } from '@fairlead/base/storage/file-fault.ts'
import type { Definitions } from '@fairlead/engine/definitions/collections.ts'
import { contentOf, type DefinitionKind, isKind, keyOf, kinds, type MovedObject } from './kinds.ts'

const head = { format: 'fairlead-definitions', version: 1 }

export function* toLines(definitions: Definitions): Generator<string, void> {
  yield `${JSON.stringify(head)}\n`
  let count = 0
  for (const kind of Object.keys(kinds) as DefinitionKind[]) {
    for (const document of definitions[kind].all()) {
      count++
      yield `${formatJson({ kind, versions: versionsOf(definitions, kind, document) })}\n`
    }
  }
  // A file that was cut off lacks it.
  yield `${JSON.stringify({ count })}\n`
}

function versionsOf(
  definitions: Definitions,
  kind: DefinitionKind,
  document: JsonObject,
): JsonObject[] {
  const key = keyOf(kind, document)
  const texts = key === undefined ? [] : definitions[kind].history(key, -1)
  const versions = texts.map((text) => parseJson(text) as JsonObject).reverse()
  const newest = versions.at(-1)
  return newest !== undefined && contentOf(newest) === contentOf(document)
    ? versions
    : [...versions, document]
}

/** @throws {Error} when it is no such file, or not whole */
export async function* readDefinitionFile(file: string): AsyncGenerator<MovedObject, void> {
  let lines = 0
  let count: unknown
  try {
    const content = createReadStream(file)
    const plain = createGunzip()
    content.on('error', (error) => plain.destroy(error))
    for await (const line of createInterface({
      input: content.pipe(plain),
      crlfDelay: Number.POSITIVE_INFINITY,
    })) {
      const read = objectOf(parseJson(line))
      const { kind, versions } = read
      if (lines++ === 0) checkHead(file, read)
      else if (isKind(kind)) yield { kind, versions: objectsOf(versions) }
      else count = read['count']
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === undefined && !(cause instanceof SyntaxError)) throw cause
    const reason =
      code?.startsWith('Z_') || code === undefined
        ? `${file} is damaged`
        : explainUnreadable(file, cause)
    throw new Error(
      `The definitions cannot be read: ${reason}. Write the file again with "fairlead move --to".`,
      { cause },
    )
  }
  if (count !== lines - 2)
    throw new Error(`${file} is not complete. Write it again with "fairlead move --to".`)
}

function checkHead(file: string, { format, version }: JsonObject): void {
  if (format === head.format && version === head.version) return
  throw new Error(
    `${file} holds no definitions that this version knows. Write it with "fairlead move --to" of the same version.`,
  )
}
