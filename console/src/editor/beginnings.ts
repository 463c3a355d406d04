/** What a new pipeline may begin with, and what each asks for: templates run as they are. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { withoutStamps } from './changes.ts'
import type { OpenedFile } from './definition-text.ts'
import { freshBake, freshGroup, freshManifests, type Place } from './forms/fresh.ts'
import { loadText } from './lazy.tsx'
import { readDefinition } from './store.ts'

export interface Question {
  readonly label: string
  readonly help?: string
  readonly placeholder?: string
  /** Said where it must be answered, and is not. */
  readonly missing?: string
  readonly errorOf?: (value: string) => string | undefined
  readonly input?: 'text' | 'select' | 'file' | 'code'
}

const account: Question = { label: 'Account', missing: 'Choose an account.', input: 'select' }

/** Questions about an account are asked only where there are several. */
export const questions = {
  account,
  productionAccount: { ...account, label: 'Account of production' },
  manifestAccount: account,
  image: {
    label: 'Image',
    help: 'For the first start; others may choose another one.',
    missing: 'Choose an image.',
  },
  source: {
    label: 'Folder or repository',
    placeholder: '/srv/shop, or https://git.example.com/shop/web.git',
    help: 'The whole path of a folder on the machine of Fairlead, or the address of a Git repository.',
    missing: 'Enter a folder or a repository.',
    errorOf: errorOfSource,
  },
  repository: {
    label: 'Repository',
    placeholder: '/srv/git/shop.git, or https://git.example.com/shop/web.git',
    help: 'The address of a Git repository, which is asked for pushes. The path of a bare one on this machine works as well; its post-receive hook has to tell of pushes.',
    missing: 'Enter a repository.',
    errorOf: (value) => {
      if (!value.startsWith('/') || value.endsWith('.git')) return errorOfSource(value)
      return `${value} is a folder. Enter a repository: “git clone --bare ${value} ${value}.git” makes one of it.`
    },
  },
  branch: { label: 'Branch', placeholder: 'any', help: 'Pushes to it start the pipeline.' },
  secret: {
    label: 'Secret of the hook',
    help: 'The same that the hook or webhook of the repository has, which signs pushes with it.',
  },
  balancer: {
    label: 'Load balancer',
    help: 'Sends the traffic to what is deployed.',
    input: 'select',
  },
  manifests: {
    label: 'Manifests',
    help: 'YAML, with --- between objects.',
    missing: 'Write a manifest.',
    input: 'code',
  },
  original: { label: 'Pipeline to copy', missing: 'Choose a pipeline.', input: 'select' },
  file: { label: 'File', missing: 'Choose a file.', input: 'file' },
} satisfies Readonly<Record<string, Question>>

export type QuestionId = keyof typeof questions
export type Answers = Readonly<Partial<Record<Exclude<QuestionId, 'file'>, string>>> & {
  readonly file?: OpenedFile
}

export interface Beginning {
  readonly label: string
  readonly help: string
  /** Name of the pipeline, unless the user gives another one. */
  readonly name?: string
  readonly asks: readonly QuestionId[]
  readonly define: (
    answers: Answers,
    place: Place & { readonly production: Place['account'] },
  ) => JsonObject | Promise<JsonObject>
}

const judge: JsonObject = { type: 'manualJudgment', name: 'Judge', judgmentInputs: [] }

const bake = (place: Place, source = ''): JsonObject => ({
  type: 'bake',
  name: 'Bake',
  ...freshBake(place, source),
})
const balancersOf = ({ balancer = '' }: Answers): JsonObject =>
  balancer === '' ? {} : { loadBalancers: [balancer] }

function deploy(name: string, place: Place, group: JsonObject): JsonObject {
  return { type: 'deploy', name, clusters: [{ ...freshGroup(place), ...group }] }
}

function chain(stages: readonly JsonObject[], more: JsonObject = {}): JsonObject {
  const requires = (index: number) => (index === 0 ? [] : [String(index)])
  const chained = stages.map((stage, index) => ({
    refId: String(index + 1),
    requisiteStageRefIds: requires(index),
    ...stage,
  }))
  return {
    limitConcurrent: true,
    keepWaitingPipelines: false,
    triggers: [],
    ...more,
    stages: chained,
  }
}

export const templates: Readonly<Record<string, Beginning>> = {
  image: {
    name: 'deploy',
    label: 'Deploy an image',
    help: 'Each start chooses the image; red/black hands the traffic over.',
    asks: ['account', 'image', 'balancer'],
    define: (answers, place) =>
      chain(
        [deploy('Deploy', place, { ...balancersOf(answers), imageId: '${parameters.image}' })],
        {
          parameterConfig: [
            { name: 'image', label: 'Image', required: true, default: answers.image },
          ],
        },
      ),
  },
  bake: {
    name: 'bake and deploy',
    label: 'Bake, judge, deploy',
    help: 'Makes an image of your files, and asks before it takes the traffic.',
    asks: ['account', 'source', 'balancer'],
    define: (answers, place) =>
      chain([bake(place, answers.source), judge, deploy('Deploy', place, balancersOf(answers))]),
  },
  production: {
    name: 'push to production',
    label: 'Push to production',
    help: 'A push is baked, runs in the test environment, and goes to production when a person agrees.',
    asks: ['account', 'productionAccount', 'repository', 'branch', 'secret', 'balancer'],
    define: (answers, place) => {
      const { repository = '', branch, secret } = answers
      const stages = [
        bake(place, repository),
        deploy('Deploy to test', place, { stack: 'test', strategy: 'highlander' }),
        {
          ...judge,
          instructions:
            'Does the test environment work? “Continue” deploys the same image to production.',
        },
        deploy(
          'Deploy to production',
          { ...place, account: place.production },
          { stack: 'prod', ...balancersOf(answers) },
        ),
      ]
      const trigger = {
        type: 'git',
        id: crypto.randomUUID(),
        enabled: true,
        source: 'git',
        repository,
      }
      const poll = !repository.startsWith('/')
      return chain(stages, {
        triggers: [{ ...trigger, poll, ...(branch && { branch }), ...(secret && { secret }) }],
      })
    },
  },
  manifest: {
    name: 'deploy manifest',
    label: 'Deploy a manifest',
    help: 'Applies objects to a Kubernetes cluster, and waits until they are stable.',
    asks: ['manifestAccount', 'manifests'],
    define: async ({ manifests = '' }, place) => {
      const parsed = (await loadText()).readDocuments(manifests)
      if ('problem' in parsed) throw new Error(`The manifests cannot be read. ${parsed.problem}`)
      const stage = {
        type: 'deployManifest',
        name: 'Deploy',
        ...freshManifests(place, { manifests: parsed.documents }),
      }
      return chain([{ ...stage, rollback: { onFailure: true } }])
    },
  },
}

export const others: Readonly<Record<string, Beginning>> = {
  empty: { label: 'Empty', help: 'Add stages one by one.', asks: [], define: () => chain([]) },
  copy: {
    label: 'A copy',
    help: 'Of another pipeline of this application.',
    asks: ['original'],
    define: async ({ original = '' }, { application }) =>
      copyOf(await readDefinition(application, original)),
  },
  file: {
    label: 'A file',
    help: 'JSON or YAML, such as an export of another instance.',
    asks: ['file'],
    define: ({ file }) => copyOf(file?.definition ?? {}),
  },
  text: { label: 'Text', help: 'Write or paste JSON or YAML.', asks: [], define: () => chain([]) },
}

export const beginnings = { ...templates, ...others }

/** Its own identity comes with the first save. */
function copyOf(definition: JsonObject) {
  const { id: _id, index: _index, locked: _locked, ...rest } = withoutStamps(definition)
  return rest
}

function errorOfSource(value: string) {
  return /^(\/|[\w+.-]+:\/\/.|[^/\s]+@[^/\s]+:.)/.test(value)
    ? undefined
    : 'Enter a path from “/” on, or an address such as https://git.example.com/shop/web.git.'
}

export function errorOf(id: QuestionId, { file, ...answers }: Answers): string | undefined {
  const { missing, errorOf: find }: Question = questions[id]
  if (id === 'file') return file === undefined ? missing : file.error
  const value = answers[id]?.trim() ?? ''
  return value === '' ? missing : find?.(value)
}
