/** Takes documents of the corpus through an instance: saved, named where they do not work here, read back. */
import { isObject, type JsonObject, textOf } from '../../packages/base/json/values.ts'
import { waitFor } from '../support/wait-until.ts'
import { application } from './definitions.ts'
import type { CorpusDocument, DocumentKind } from './documents.ts'
import { type Send, sender } from './try-definitions.ts'

export interface TriedDocument {
  readonly kind: DocumentKind
  readonly name: string
  readonly hasFindings: boolean
  readonly faults: readonly string[]
}

interface Place {
  readonly save: string
  /** @param answer To the save */
  readonly read: (document: JsonObject, answer: string, send: Send) => Promise<unknown>
}

const read = async (send: Send, path: string) => JSON.parse((await send('GET', path)).text)

/** Saves of templates are tasks. */
const stored = (send: Send, path: string) =>
  waitFor(async () => {
    const { status, text } = await send('GET', path)
    return status === 200 ? (JSON.parse(text) as unknown) : undefined
  }, path)

const places: Readonly<Record<DocumentKind, Place>> = {
  'canary configuration': {
    save: '/v2/canaryConfig?findings=true',
    read: (_document, answer, send) =>
      read(send, `/v2/canaryConfig/${JSON.parse(answer).saved.canaryConfigId}`),
  },
  strategy: {
    save: '/strategies?findings=true',
    read: async ({ name }, _answer, send) =>
      (await read(send, `/applications/${application}/strategyConfigs`)).find(
        (each: JsonObject) => each['name'] === name,
      ),
  },
  template: {
    save: '/v2/pipelineTemplates/create',
    read: ({ id }, _answer, send) => stored(send, `/v2/pipelineTemplates/${textOf(id)}`),
  },
  'template v1': {
    save: '/pipelineTemplates',
    read: ({ id }, _answer, send) => stored(send, `/pipelineTemplates/${textOf(id)}`),
  },
  notifications: {
    save: `/notifications/application/${application}?findings=true`,
    read: (_document, _answer, send) => read(send, `/notifications/application/${application}`),
  },
}

export async function tryDocuments(
  url: string,
  documents: readonly CorpusDocument[],
): Promise<readonly TriedDocument[]> {
  const send = sender(url)
  const tried: TriedDocument[] = []
  for (const { kind, name, document, doubt } of documents) {
    const place = places[kind]
    const { status, text, warnings } = await send('POST', place.save, document)
    const isSaved = status >= 200 && status < 300
    const found = isSaved ? await place.read(document, text, send) : undefined
    const isNamed = doubt === undefined ? warnings === '' : doubt.test(warnings)
    // Saves of templates are tasks, which are answered as such.
    const isListed =
      kind.startsWith('template') || text.startsWith('{"findings":[]') === (doubt === undefined)
    const faults = [
      ...(isSaved ? [] : [`the save is refused with ${status}: ${text}`]),
      ...(isSaved && !isKept(document, found) ? ['it is read back otherwise'] : []),
      ...(isListed ? [] : [`the body of the answer is ${text.slice(0, 100)}`]),
      ...(isNamed ? [] : [`the save names ${warnings || 'nothing'}, not ${doubt ?? 'nothing'}`]),
    ]
    tried.push({ kind, name, hasFindings: warnings !== '', faults })
  }
  return tried
}

const stamps = ['updateTs', 'lastModifiedBy', 'createTs', 'lastModified']

/** Whether all that was sent is there; the store may add fields. */
function isKept(sent: unknown, found: unknown): boolean {
  if (Array.isArray(sent))
    return (
      Array.isArray(found) &&
      sent.length === found.length &&
      sent.every((value, index) => isKept(value, found[index]))
    )
  if (!isObject(sent)) return JSON.stringify(sent) === JSON.stringify(found)
  return (
    isObject(found) &&
    Object.entries(sent).every(([key, value]) => stamps.includes(key) || isKept(value, found[key]))
  )
}
