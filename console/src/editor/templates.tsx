/** Templates of pipelines: what they ask, and the definition that the answers give, which runs as it is. */
import { useState } from 'preact/hooks'
import { useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { Field } from '../components/field.tsx'
import type { Json } from '../model/read.ts'
import { type Choice, useAccounts, useChoices } from './choices.ts'
import { toStageTypes } from './descriptions.ts'
import { Draft } from './draft.ts'
import { type Way, Ways } from './forms/form.tsx'
import { freshGroup, type Place, placeIn } from './forms/fresh.ts'
import { SelectInput, TextInput } from './inputs.tsx'
import { Lazy } from './lazy.tsx'
import { loadManifestsInput } from './manifests-input.tsx'

export type TemplateId = 'image' | 'bake' | 'production' | 'manifest'
type Question =
  | 'account'
  | 'productionAccount'
  | 'image'
  | 'source'
  | 'repository'
  | 'builder'
  | 'branch'
  | 'balancer'
  | 'manifestAccount'
  | 'manifests'

interface TemplatePlace extends Place {
  readonly production: Place['account']
}

export type Answers = Readonly<Partial<Record<Question, unknown>>>

interface Template {
  readonly name: string
  readonly label: string
  readonly help: string
  readonly steps: readonly string[]
  readonly asks: readonly Question[]
  readonly stages: (answers: Answers, place: TemplatePlace) => readonly Json[]
  /** Further parts of the definition. */
  readonly rest?: (answers: Answers) => Json
}

const judge: Json = { type: 'manualJudgment', name: 'Judge', judgmentInputs: [] }

export const templates: Readonly<Record<TemplateId, Template>> = {
  image: {
    name: 'deploy',
    label: 'Deploy an image',
    help: 'Each start chooses the image; red/black hands the traffic over.',
    steps: ['Deploy'],
    asks: ['account', 'image', 'balancer'],
    stages: (answers, place) => [deploy('Deploy', place, { ...balancersOf(answers), imageId: '${parameters.image}' })],
    rest: ({ image }) => ({ parameterConfig: [{ name: 'image', label: 'Image', required: true, default: image }] }),
  },
  bake: {
    name: 'bake and deploy',
    label: 'Bake, judge, deploy',
    help: 'Makes an image of your files, and asks before it takes the traffic.',
    steps: ['Bake', 'Judge', 'Deploy'],
    asks: ['account', 'source', 'builder', 'balancer'],
    stages: (answers, place) => [bake(answers, place), judge, deploy('Deploy', place, balancersOf(answers))],
  },
  production: {
    name: 'push to production',
    label: 'Push to production',
    help: 'A push is baked, runs in the test environment, and goes to production when a person agrees.',
    steps: ['Bake', 'Test', 'Judge', 'Prod'],
    asks: ['account', 'productionAccount', 'repository', 'branch', 'builder', 'balancer'],
    stages: (answers, place) => [
      bake({ ...answers, source: answers.repository }, place),
      deploy('Deploy to test', place, { stack: 'test', strategy: 'highlander' }),
      { ...judge, instructions: 'Does the test environment work? “Continue” deploys the same image to production.' },
      deploy('Deploy to production', { ...place, account: place.production }, { stack: 'prod', ...balancersOf(answers) }),
    ],
    rest: ({ repository, branch }) => {
      const trigger = {
        type: 'git',
        id: crypto.randomUUID(),
        enabled: true,
        source: 'git',
        repository,
        poll: !isPath(repository),
      }
      return { triggers: [branch === undefined ? trigger : { ...trigger, branch }] }
    },
  },
  manifest: {
    name: 'deploy manifest',
    label: 'Deploy a manifest',
    help: 'Applies objects to a Kubernetes cluster, and waits until they are stable.',
    steps: ['Deploy'],
    asks: ['manifestAccount', 'manifests'],
    stages: ({ manifests }, { manifestAccount }) => [
      {
        ...{ type: 'deployManifest', name: 'Deploy', cloudProvider: manifestAccount?.type, account: manifestAccount?.name },
        ...{ source: 'text', manifests: Array.isArray(manifests) ? manifests : [manifests], rollback: { onFailure: true } },
      },
    ],
  },
}

function balancersOf({ balancer }: Answers): Json {
  return typeof balancer === 'string' && balancer !== '' ? { loadBalancers: [balancer] } : {}
}

function deploy(name: string, place: Place, group: Json): Json {
  return { type: 'deploy', name, clusters: [{ ...freshGroup(place), ...group }] }
}

/** What begins with "/" and does not end with ".git"; all else is a repository. */
function isFolder(source: string): boolean {
  return isPath(source) && !source.endsWith('.git')
}

function isPath(source: unknown): boolean {
  return String(source).startsWith('/')
}

function bake({ source, builder }: Answers, { application, account }: Place): Json {
  const path = String(source)
  return {
    ...{ type: 'bake', name: 'Bake', cloudProviderType: account?.type, region: account?.regions[0], package: application },
    baseOs: builder ?? 'directory',
    extendedAttributes: isFolder(path) ? { directory: path } : { git: path },
  }
}

/** One stage after the other. */
export function toDefinition(id: TemplateId, answers: Answers, place: TemplatePlace): Json {
  const { stages, rest } = templates[id]
  const chained = stages(answers, place).map((stage, index) => ({
    refId: String(index + 1),
    requisiteStageRefIds: index === 0 ? [] : [String(index)],
    ...stage,
  }))
  return { limitConcurrent: true, keepWaitingPipelines: false, triggers: [], ...rest?.(answers), stages: chained }
}

interface Asked {
  readonly label: string
  readonly help: string
  readonly placeholder?: string
  /** What is said where it must be answered and is not. */
  readonly missing?: string
  readonly errorOf?: (value: string) => string | undefined
}

const questions: Readonly<Record<Question, Asked>> = {
  account: { label: 'Account', help: '', missing: 'Choose an account.' },
  productionAccount: { label: 'Account of production', help: '', missing: 'Choose an account.' },
  image: { label: 'Image', help: 'For the first start; others may choose another one.', missing: 'Choose an image.' },
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
    errorOf: (value) =>
      isFolder(value)
        ? `${value} is a folder. Enter a repository: “git clone --bare ${value} ${value}.git” makes one of it.`
        : errorOfSource(value),
  },
  branch: { label: 'Branch', placeholder: 'any', help: 'Pushes to it start the pipeline.' },
  builder: { label: 'How it becomes an image', help: '' },
  balancer: { label: 'Load balancer', help: 'Sends the traffic to what is deployed. More can be added later.' },
  manifestAccount: { label: 'Account', help: '', missing: 'Choose an account.' },
  manifests: { label: 'Manifests', help: 'YAML, with --- between objects.', missing: 'Write at least one manifest.' },
}

function errorOfSource(value: string): string | undefined {
  return /^(\/|[\w+.-]+:\/\/.|[^/\s]+@[^/\s]+:.)/.test(value)
    ? undefined
    : 'Enter a path from “/” on, or an address such as https://git.example.com/shop/web.git.'
}

/** What the templates need to know of this instance, and the answers that are clear without asking. */
export function useTemplates(application: string, id: string, given: Answers) {
  const [draft] = useState(() => new Draft(application, { stored: undefined, definition: {} }))
  const accounts = useAccounts()
  const providers = useCloudProviders()
  const types = useLive('/capabilities/stageTypes', {}, { refresh: 'open' }).reading.value.body
  const isManifest = (type: string) => providers.some(({ id, hasManifests }) => id === type && hasManifests === true)
  const byKind = {
    account: accounts.filter(({ type }) => !isManifest(type)),
    manifestAccount: accounts.filter(({ type }) => isManifest(type)),
  }
  const only = placeIn(application, accounts, providers)
  const named = (name: unknown) => byKind.account.find((account) => account.name === name)
  const place = {
    application,
    account: named(given.account) ?? only.account ?? byKind.account.find(({ name }) => /test|dev|stag/i.test(name)),
    manifestAccount: byKind.manifestAccount.find(({ name }) => name === given.manifestAccount) ?? only.manifestAccount,
    production: named(given.productionAccount) ?? only.account ?? byKind.account.find(({ name }) => /prod|live/i.test(name)),
  }
  const served = id === 'production' ? place.production : place.account
  const holder = { account: served?.name, cloudProvider: served?.type }
  const toChoices = (names: readonly { name: string }[]) => names.map(({ name }) => ({ value: name }))
  const choices: Readonly<Partial<Record<Question, readonly Choice[]>>> = {
    account: toChoices(byKind.account),
    productionAccount: toChoices(byKind.account),
    manifestAccount: toChoices(byKind.manifestAccount),
    image: useChoices('images', draft, holder),
    balancer: [{ value: '' }, ...useChoices('load-balancers', draft, holder)],
    builder: useChoices('base-images', draft, holder).map(({ value, note }) => ({ value, label: note ?? value })),
  }
  const balancers = (choices.balancer ?? []).slice(1)
  const answers: Answers = {
    ...{ account: place.account?.name, productionAccount: place.production?.name },
    ...{ manifestAccount: place.manifestAccount?.name, builder: 'directory' },
    ...{ balancer: balancers.length === 1 ? balancers[0]?.value : '' },
    ...given,
  }
  const isKnown = types !== undefined && accounts.length > 0
  const bakes = types === undefined ? undefined : toStageTypes(types).stageTypes.find(({ type }) => type === 'bake')
  const refusedOf = (id: TemplateId): string | undefined => {
    if (!isKnown) return undefined
    if (id === 'manifest')
      return byKind.manifestAccount.length === 0 ? 'No account of a Kubernetes cluster is configured.' : undefined
    if (byKind.account.length === 0) return 'No account for server groups is configured.'
    return id !== 'image' && bakes?.runsHere === false ? bakes.reason : undefined
  }
  const asks = (id: TemplateId) =>
    templates[id].asks.filter((question) => !question.toLowerCase().endsWith('account') || (choices[question]?.length ?? 0) > 1)
  return { place, choices, answers, refusedOf, asks }
}

export type Templates = ReturnType<typeof useTemplates>

export function isAnswered({ asks, answers }: Templates, id: TemplateId): boolean {
  return asks(id).every((question) => errorOf(question, answers[question]) === undefined)
}

function errorOf(question: Question, value: unknown): string | undefined {
  const { missing, errorOf: find } = questions[question]
  return value === undefined || value === '' ? missing : find?.(String(value).trim())
}

export function TemplateWays(props: { templates: Templates; chosen: string; onChoose: (id: TemplateId) => void }) {
  const ways = (Object.keys(templates) as TemplateId[]).map((id): Way<TemplateId> => {
    const { label, help, steps } = templates[id]
    return { id, label, help, picture: <Steps names={steps} />, refused: props.templates.refusedOf(id) }
  })
  return <Ways label="Templates" ways={ways} chosen={props.chosen as TemplateId} onChoose={props.onChoose} />
}

function Steps({ names }: { names: readonly string[] }) {
  return (
    <span class="template-steps" aria-hidden="true">
      {names.map((name) => (
        <span key={name}>{name}</span>
      ))}
    </span>
  )
}

interface QuestionsProps {
  readonly id: TemplateId
  readonly templates: Templates
  /** Whether what is missing is marked. */
  readonly isTried: boolean
  readonly onAnswer: (question: Question, value: unknown) => void
}

export function Questions({ id, templates: { asks, answers, choices }, isTried, onAnswer }: QuestionsProps) {
  return (
    <>
      {asks(id).map((question) => {
        const { help, missing, placeholder } = questions[question]
        const isTest = question === 'account' && id === 'production'
        const label = isTest ? 'Account of the test environment' : questions[question].label
        const value = answers[question]
        const change = (next: unknown) => onAnswer(question, next)
        const isChoice = ['account', 'productionAccount', 'manifestAccount', 'balancer', 'builder'].includes(question)
        const offered = choices[question] ?? []
        if (question === 'manifests') {
          return (
            <div key={question} class="field" role="group" aria-label={label}>
              <strong>{label}</strong>
              <Lazy load={loadManifestsInput} props={{ label, isOne: false, value, onChange: change }} />
              <p class={isTried && !value ? 'error' : 'help'}>{isTried && !value ? missing : help}</p>
            </div>
          )
        }
        return (
          <Field
            key={question}
            label={label}
            help={help}
            error={isTried || value ? errorOf(question, value) : undefined}
            required={missing !== undefined}
          >
            {(tied) =>
              isChoice ? (
                <SelectInput tied={tied} value={value} onChange={(next) => change(next ?? '')} choices={offered} />
              ) : (
                <TextInput tied={tied} value={value} onChange={change} choices={offered} placeholder={placeholder} />
              )
            }
          </Field>
        )
      })}
    </>
  )
}
