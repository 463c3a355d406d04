/** Findings of definitions in files, by the checks of saves and moves. */
import { type DocumentFinding, errorAt } from '@fairlead/base/findings/document-finding.ts'
import { type JsonObject, scalarOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { refusalOf } from '@fairlead/base/port-error.ts'
import { readExplained } from '@fairlead/base/storage/file-fault.ts'
import {
  configurationFindings,
  StoredConfiguration,
} from '@fairlead/engine/canaries/configuration-schema.ts'
import { checkPipelineTypes } from '@fairlead/engine/definitions/pipeline-rules.ts'
import { TemplateFields } from '@fairlead/engine/definitions/templates.ts'
import { findingsOf } from '@fairlead/engine/orchestration/findings/findings.ts'
import type { FileKind } from '@fairlead/model/definition-files/file-kinds.ts'
import { type FileDefinition, readDefinitions } from '@fairlead/model/definition-files/read-file.ts'
import { checkBody } from '@fairlead/ports/requests/check-body.ts'
import { readDefinitionFile } from './definition-file.ts'
import type { DefinitionKind } from './kinds.ts'
import type { OpenDefinitions } from './open-definitions.ts'

interface CheckedDefinition {
  readonly file: string
  /** `pipeline "deploy" of shop` */
  readonly title: string
  readonly findings: readonly DocumentFinding[]
}

/**
 * @param opened A copy: the definitions are written into it, so that they find each other
 * @throws {Error} when a file cannot be read, or holds what is no definition
 */
export async function findingsOfFiles(
  { definitions }: OpenDefinitions,
  files: readonly string[],
): Promise<CheckedDefinition[]> {
  const read: (FileDefinition & { file: string })[] = []
  for (const file of files)
    for (const definition of await definitionsIn(file)) read.push({ ...definition, file })
  for (const { kind, document } of read) {
    const collection = collections[kind]
    const key = scalarOf(document[kind === 'application' ? 'name' : 'id'] ?? document['name'])
    if (collection !== undefined && key !== undefined)
      definitions[collection].put(foldName(key), document, 'anonymous')
  }
  const checked: CheckedDefinition[] = []
  for (const { file, kind, document } of read) {
    const refused = refusalOf(() => void checks[kind]?.(document))
    const checkedKind = checkedKinds[kind]
    const findings =
      refused !== undefined
        ? [errorAt('', refused)]
        : kind === 'canary-configuration'
          ? configurationFindings(document)
          : checkedKind === undefined
            ? []
            : await findingsOf(checkedKind, document, definitions.findingSources)
    checked.push({ file, title: titleOf(kind, document), findings })
  }
  return checked
}

const collections: Readonly<Partial<Record<FileKind, DefinitionKind>>> = {
  application: 'applications',
  template: 'templates',
  strategy: 'strategies',
  pipeline: 'pipelines',
}

const checkedKinds = {
  application: 'application',
  environments: 'application',
  template: 'template',
  strategy: 'strategy',
  pipeline: 'pipeline',
  project: undefined,
  'load-balancer': undefined,
  'canary-configuration': undefined,
} as const

/** What no store takes. */
const checks: Readonly<Partial<Record<FileKind, (document: JsonObject) => unknown>>> = {
  pipeline: checkPipelineTypes,
  strategy: checkPipelineTypes,
  template: (document) => checkBody(TemplateFields, document),
  'canary-configuration': (document) => checkBody(StoredConfiguration, document),
}

const ofMoves: Readonly<Partial<Record<DefinitionKind, FileKind>>> = {
  templates: 'template',
  applications: 'application',
  pipelines: 'pipeline',
  strategies: 'strategy',
}

async function definitionsIn(file: string): Promise<FileDefinition[]> {
  const bytes = readExplained(file)
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) {
    try {
      return readDefinitions(bytes.toString('utf8'))
    } catch (cause) {
      throw new Error(`${file} cannot be checked: ${(cause as Error).message}.`, { cause })
    }
  }
  const found: FileDefinition[] = []
  for await (const { kind, versions } of readDefinitionFile(file)) {
    const known = ofMoves[kind]
    const document = versions.at(-1)
    if (known !== undefined && document !== undefined) found.push({ kind: known, document })
  }
  return found
}

function titleOf(kind: FileKind, { name, id, application }: JsonObject): string {
  const own = scalarOf(name) ?? scalarOf(id)
  const where = scalarOf(application)
  return `${kind}${own === undefined ? '' : ` "${own}"`}${where === undefined ? '' : ` of ${where}`}`
}
