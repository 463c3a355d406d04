/** `fairlead export`: the definitions of an application as files that `apply` reads. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { objectOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { storedTemplate } from '@fairlead/model/pipeline-templates/inheritance.ts'
import { defineCommand } from '../command.ts'
import { exitCodes, Failure } from '../failure.ts'
import type { Definition } from '../files/definition.ts'
import { differencesOf } from '../files/differences.ts'
import type { FileFormat } from '../files/file-text.ts'
import type { Instance as OpenInstance } from '../files/instance.ts'

export const exportCommand = defineCommand({
  name: 'export',
  group: 'files',
  summary: 'write the definitions of an application as files',
  help: 'Without -o, all are printed. A file that says the same already stays as it is, with its comments.',
  words: '[app]',
  options: {
    out: { type: 'text', short: 'o', value: 'DIR', summary: 'folder to write to' },
    format: {
      type: 'text',
      value: 'FORMAT',
      choices: ['yaml', 'json'],
      summary: 'yaml unless given',
    },
  },
  run: async ({ words: [word], session, output, questions, connect }, { out, format }) => {
    const [{ Instance }, { pathsOf, textOfFile }, { readFile }] = await Promise.all([
      import('../files/instance.ts'),
      import('../files/file-text.ts'),
      import('../files/read-folder.ts'),
    ])
    const application = word ?? session.app()
    const definitions = await definitionsOf(new Instance(await connect()), application)
    if (definitions.length === 0)
      throw new Failure(
        exitCodes.misuse,
        'NOT_FOUND',
        `There is no application "${application}", and nothing of it.`,
        { remedy: 'Correct the name, or see the list in the console: fairlead open --console' },
      )
    const form: FileFormat = format === 'json' ? 'json' : 'yaml'
    if (out === undefined) {
      const texts = definitions.map((definition) => textOfFile(definition, form))
      const documents = definitions.map(({ kind, document }) => ({ kind, ...document }))
      if (form === 'json' || output.json)
        output.result(documents, JSON.stringify(documents, undefined, 2))
      else output.line(texts.join('---\n').trimEnd())
      return undefined
    }
    const files = pathsOf(definitions, form).map((path, index) => ({
      path: join(out, path),
      definition: definitions[index] as Definition,
    }))
    const changed = files.filter(
      ({ path, definition }) => !existsSync(path) || !saysTheSame(() => readFile(path), definition),
    )
    const replaced = changed.filter(({ path }) => existsSync(path)).map(({ path }) => path)
    if (replaced.length > 0 && !(await questions.confirm(`Replace ${replaced.join(', ')}?`))) {
      output.note('Nothing is written.')
      return exitCodes.failed
    }
    for (const { path, definition } of changed) {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, textOfFile(definition, form))
    }
    output.result(
      { files: files.map(({ path }) => path), written: changed.map(({ path }) => path) },
      `${files.length} definitions are in ${out}; ${changed.length} files were written.`,
    )
    return undefined
  },
})

/** What belongs to the application, with the templates of its pipelines and the projects that show it. */
async function definitionsOf(instance: OpenInstance, application: string): Promise<Definition[]> {
  const own: Definition[] = []
  for (const kind of [
    'application',
    'environments',
    'load-balancer',
    'canary-configuration',
    'strategy',
    'pipeline',
  ] as const)
    own.push(...(await instance.read(kind, application)))
  if (own.length === 0) return []
  const used = new Set(
    own.map(({ document }) => storedTemplate(objectOf(document['template'])['reference'])?.id),
  )
  const templates = await instance.read('template', '')
  const projects = await instance.read('project', '')
  const shows = ({ document }: Definition) =>
    textsOf(objectOf(document['config'])['applications']).some(
      (name) => name.toLowerCase() === application.toLowerCase(),
    )
  return [
    ...own,
    ...templates.filter(({ document }) => used.has(textOf(document['id']))),
    ...projects.filter(shows),
  ]
}

function saysTheSame(read: () => readonly Definition[], definition: Definition): boolean {
  try {
    const [found, ...others] = read()
    return (
      found?.kind === definition.kind &&
      others.length === 0 &&
      differencesOf(found.document, definition.document).length === 0
    )
  } catch {
    return false
  }
}
