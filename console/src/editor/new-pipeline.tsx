/** Where a new pipeline begins: with a template, empty, as a copy, or from text. */

import { scalarOf } from '@fairlead/base/json/values.ts'
import type { FunctionComponent } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { type ScreenProps, to, useNavigate } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { providerOf } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { usePipelines } from '../api/pipelines.ts'
import { saveOperation, useDenial } from '../api/rights.ts'
import { Banner, Button } from '../components/button.tsx'
import { Denied } from '../components/denied.tsx'
import { useSubmit } from '../components/form-dialog.tsx'
import { Field, TextField } from '../components/form-fields.tsx'
import { FailedAction, PageHead, pipelineCrumbs } from '../components/screen.tsx'
import { freeName } from '../model/names.ts'
import {
  type Answers,
  type Beginning,
  beginnings,
  errorOf,
  others,
  type Question,
  type QuestionId,
  questions,
  templates,
} from './beginnings.ts'
import { type Choice, useChoices } from './choices.ts'
import type { Draft } from './draft.ts'
import { Editor } from './editor.tsx'
import { Ways } from './forms/form.tsx'
import { type Account, chosenOf, useAccountsByUse } from './forms/fresh.ts'
import { type InputProps, SelectInput, TextInput } from './inputs.tsx'
import { loadText } from './lazy.tsx'
import { createDraft, openDraft } from './open-draft.ts'
import { nameMissing } from './problems.ts'

export function NewPipeline({ params, query }: ScreenProps) {
  const { application = '' } = params
  // What was begun goes on, unless a copy of another pipeline is wanted.
  const [draft, setDraft] = useState<Draft | undefined>(() =>
    query['from'] === undefined ? openDraft(application, undefined) : undefined,
  )
  if (draft !== undefined) return <Editor draft={draft} id={undefined} query={query} />
  return <BeginForm application={application} from={query['from']} onBegun={setDraft} />
}

interface BeginFormProps {
  readonly application: string
  /** Id of the pipeline to copy. */
  readonly from: string | undefined
  readonly onBegun: (draft: Draft) => void
}

function BeginForm({ application, from, onBegun }: BeginFormProps) {
  const denied = useDenial(saveOperation, application)
  const navigate = useNavigate()
  const [id, setId] = useState(from === undefined ? 'image' : 'copy')
  const [given, setGiven] = useState<Answers>(from === undefined ? {} : { original: from })
  const [typed, setTyped] = useState<string>()
  const [tried, setTried] = useState<string>()
  const form = useRef<HTMLFormElement>(null)
  const { pipelines, place, choices, answers, refusedOf } = useAnswers(application, id, given)
  const { asks, define } = beginnings[id] as Beginning
  const asked = asks.filter(
    (question) =>
      !question.toLowerCase().endsWith('account') || (choices[question]?.length ?? 0) > 1,
  )
  const isTaken = (name: string) =>
    pipelines.some((pipeline) => pipeline.name.toLowerCase() === name.toLowerCase())
  const name = typed ?? freeName(usualName(id, answers, pipelines), isTaken)
  const taken = isTaken(name.trim())
    ? `This application has a pipeline ${name.trim()} already.`
    : undefined
  const nameError = name.trim() === '' ? nameMissing : taken
  const { error, submit } = useSubmit({
    what: 'Create pipeline',
    isReady:
      denied === undefined &&
      nameError === undefined &&
      asked.every((question) => !errorOf(question, answers)),
    run: async () => {
      const definition = await define(answers, place)
      navigate(to.newPipeline(application, id === 'text' ? { tab: 'text' } : {}), true)
      onBegun(createDraft(application, { ...definition, name: name.trim(), application }))
    },
  })
  const begin = (event: Event) => {
    setTried(id)
    submit(event)
    requestAnimationFrame(() =>
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(),
    )
  }
  const toWays = (list: typeof beginnings) =>
    Object.entries(list).map(([each, way]) => ({ ...way, id: each, refused: refusedOf(each) }))
  return (
    <>
      <PageHead tab="New pipeline" crumbs={pipelineCrumbs(application)} />
      {denied !== undefined && <Banner tone="warning" children={<Denied reason={denied} />} />}
      <form class="panel begin" ref={form} onSubmit={begin} noValidate>
        <Ways label="Templates" ways={toWays(templates)} chosen={id} onChoose={setId} />
        <Ways label="Or begin with" ways={toWays(others)} chosen={id} onChoose={setId} />
        <div class="begin-fields">
          {asked.map((question) => {
            const {
              label,
              help,
              missing,
              placeholder,
              input = 'text',
            }: Question = questions[question]
            const Input = questionInputs[input]
            const isShown = tried === id || given[question] !== undefined
            const error = isShown ? errorOf(question, answers) : undefined
            const rest = { value: answers[question], choices: choices[question] ?? [], placeholder }
            const change = (value: unknown) => setGiven({ ...given, [question]: value })
            return (
              <Field
                key={question}
                label={label}
                help={help}
                error={error}
                required={missing !== undefined}
              >
                {(tied) => <Input tied={tied} onChange={change} {...rest} />}
              </Field>
            )
          })}
          <TextField
            label="Name"
            value={name}
            error={tried === id || name.trim() !== '' ? nameError : undefined}
            required
            onChange={setTyped}
          />
          {error !== undefined && <FailedAction error={error} />}
          <div class="row">
            <Button type="submit" kind="primary" denied={denied}>
              Create pipeline
            </Button>
            <a class="button" href={to.pipelines(application)}>
              Cancel
            </a>
            <span class="muted">Nothing is stored before you save.</span>
          </div>
        </div>
      </form>
    </>
  )
}

const questionInputs: Readonly<
  Record<NonNullable<Question['input']>, FunctionComponent<InputProps>>
> = {
  text: TextInput,
  code: (props) => <TextInput {...props} isLong isCode />,
  // What is none is an answer as well.
  select: (props) => <SelectInput {...props} onChange={(value) => props.onChange(value ?? '')} />,
  file: ({ tied, onChange }) => (
    <input
      {...tied}
      type="file"
      accept=".json,.yaml,.yml,.txt,application/json"
      onChange={async ({ currentTarget: { files } }) =>
        onChange(files?.[0] && (await (await loadText()).readDefinitionFile(files[0])))
      }
    />
  ),
}

/** What this instance offers, and the answers that are clear without asking. */
function useAnswers(application: string, id: string, given: Answers) {
  const pipelines = usePipelines(application).body ?? []
  const stageTypes = useLive('/capabilities/stageTypes', {}, 'open').body?.stageTypes
  const { groups, clusters } = useAccountsByUse()
  const place = {
    application,
    account: chosenOf(groups, given.account, /test|dev|stag/i),
    production: chosenOf(groups, given.productionAccount, /prod|live/i),
    manifestAccount: chosenOf(clusters, given.manifestAccount),
  }
  const served = id === 'production' ? place.production : place.account
  const holder = served ? { account: served.name, cloudProvider: providerOf(served) } : {}
  const at = { application, definition: {}, holder }
  const names = (accounts: readonly Account[]) => accounts.map(({ name }) => ({ value: name }))
  const balancers = useChoices({ choicesFrom: 'load-balancers' }, at)
  const choices: Readonly<Partial<Record<QuestionId, readonly Choice[]>>> = {
    account: names(groups),
    productionAccount: names(groups),
    manifestAccount: names(clusters),
    image: useChoices({ choicesFrom: 'images' }, at),
    balancer: [{ value: '' }, ...balancers],
    original: pipelines.map(({ id: value = '', name }) => ({ value, label: name })),
  }
  const answers = {
    account: place.account?.name,
    productionAccount: place.production?.name,
    manifestAccount: place.manifestAccount?.name,
    balancer: balancers.length === 1 ? balancers[0]?.value : '',
    ...given,
  } as Answers
  const refusedOf = (template: string): string | undefined => {
    const bakes = stageTypes?.find(({ type }) => type === 'bake')
    if (template in others || stageTypes === undefined || groups.length + clusters.length === 0)
      return undefined
    if (template === 'manifest')
      return clusters.length === 0 ? 'No account of a Kubernetes cluster is configured.' : undefined
    if (groups.length === 0) return 'No account for server groups is configured.'
    return template !== 'image' && bakes?.runsHere === false ? bakes.reason : undefined
  }
  return { pipelines, place, choices, answers, refusedOf }
}

/** Name until the user gives another one. */
function usualName(
  id: string,
  { original, file }: Answers,
  pipelines: readonly Schemas['Pipeline'][],
) {
  const copied = pipelines.find((pipeline) => pipeline.id === original)?.name
  const offered = {
    copy: copied && `${copied} (copy)`,
    file: scalarOf(file?.definition?.['name']),
  }[id]
  return offered ?? beginnings[id]?.name ?? ''
}
