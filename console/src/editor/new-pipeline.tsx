/** Where a new pipeline begins: with a template, empty, as a copy, or from text. */
import { useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { saveOperation, useRight } from '../api/rights.ts'
import { applicationCrumbs } from '../components/application-head.tsx'
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { Field } from '../components/field.tsx'
import { TextField } from '../components/form-fields.tsx'
import { PageHead } from '../components/page-head.tsx'
import { FailedAction } from '../components/states.tsx'
import { useSubmit } from '../components/use-submit.ts'
import { type Json, textOf } from '../model/read.ts'
import type { ScreenProps } from '../screen.ts'
import { readDefinitionFile } from './definition-file.ts'
import { type Draft, withoutStamps } from './draft.ts'
import { Editor } from './editor.tsx'
import { type Way, Ways } from './forms/form.tsx'
import { SelectInput } from './inputs.tsx'
import { createDraft, openDraft, readDefinition } from './open-draft.ts'
import {
  type Answers,
  isAnswered,
  Questions,
  type TemplateId,
  TemplateWays,
  templates,
  toDefinition,
  useTemplates,
} from './templates.tsx'
import { editorWords } from './words.ts'

type OtherBeginning = 'empty' | 'copy' | 'text' | 'file'
type Beginning = TemplateId | OtherBeginning

const others: readonly Way<OtherBeginning>[] = [
  { id: 'empty', label: 'Empty', help: 'Add stages one by one.' },
  { id: 'copy', label: 'A copy', help: 'Of another pipeline of this application.' },
  { id: 'file', label: 'A file', help: 'JSON or YAML, such as an export of another instance.' },
  { id: 'text', label: 'Text', help: 'Write or paste JSON or YAML.' },
]

export function NewPipeline({ params, query }: ScreenProps) {
  const { application = '' } = params as { application?: string }
  // What was begun goes on, unless a copy of another pipeline is wanted.
  const [draft, setDraft] = useState<Draft | undefined>(() =>
    query['from'] === undefined ? openDraft(application, undefined) : undefined,
  )
  if (draft !== undefined) return <Editor draft={draft} id={undefined} query={query} />
  return <Begin application={application} from={query['from']} onBegun={setDraft} />
}

interface BeginProps {
  readonly application: string
  /** Id of the pipeline to copy. */
  readonly from: string | undefined
  readonly onBegun: (draft: Draft) => void
}

function Begin({ application, from, onBegun }: BeginProps) {
  const right = useRight({ operation: saveOperation, application })
  return (
    <>
      <PageHead
        tab={editorWords.newPipeline}
        title={editorWords.newPipeline}
        crumbs={[...applicationCrumbs(application), { label: 'Pipelines', href: to.pipelines(application) }]}
      />
      {!right.allowed && <Banner tone="warning">{right.reason}</Banner>}
      <BeginForm application={application} from={from} onBegun={onBegun} denied={right.reason} />
    </>
  )
}

/** What the new pipeline is made of. */
interface Base {
  readonly beginning: Beginning
  readonly answers: Answers
  /** Id of the pipeline to copy. */
  readonly original: string | undefined
  readonly file: OpenedFile | undefined
}

function BeginForm({ application, from, onBegun, denied }: BeginProps & { readonly denied: string | undefined }) {
  const { route: navigate } = useLocation()
  const beginning: Beginning = from === undefined ? 'image' : 'copy'
  const [base, setBase] = useState<Base>({ beginning, answers: {}, original: from, file: undefined })
  const [typed, setTyped] = useState<string | undefined>(undefined)
  const [isTried, setTried] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const path = '/applications/{application}/pipelineConfigs'
  const pipelines = useLive(path, { path: { application } }, { refresh: 'open' }).reading.value.body ?? []
  const known = useTemplates(application, base.beginning, base.answers)
  const name = typed ?? nameOf(base, pipelines)
  const nameError = errorOfName(name.trim(), pipelines)
  const baseError = isTemplate(base.beginning) ? undefined : errorOfBase(base)
  const isComplete = !isTemplate(base.beginning) || isAnswered(known, base.beginning)
  const { error, submit } = useSubmit({
    what: 'Create pipeline',
    isReady: denied === undefined && nameError === undefined && baseError === undefined && isComplete,
    run: async () => {
      const definition = isTemplate(base.beginning)
        ? toDefinition(base.beginning, known.answers, known.place)
        : await readBase(application, base)
      const draft = createDraft(application, { ...definition, name: name.trim(), application })
      navigate(to.newPipeline(application, base.beginning === 'text' ? { tab: 'text' } : {}), true)
      onBegun(draft)
    },
  })
  const begin = (event: Event) => {
    setTried(true)
    submit(event)
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
  }
  const choose = (chosen: Beginning) => {
    setBase({ ...base, beginning: chosen })
    setTried(false)
  }
  return (
    <form class="panel begin" ref={form} onSubmit={begin} noValidate>
      <TemplateWays templates={known} chosen={base.beginning} onChoose={choose} />
      <Ways label="Or begin with" ways={others} chosen={base.beginning as OtherBeginning} onChoose={choose} />
      <div class="begin-fields">
        {isTemplate(base.beginning) ? (
          <Questions
            id={base.beginning}
            templates={known}
            isTried={isTried}
            onAnswer={(question, value) => setBase({ ...base, answers: { ...base.answers, [question]: value } })}
          />
        ) : (
          <BaseField
            base={base}
            error={isTried || base.file?.error !== undefined ? baseError : undefined}
            pipelines={pipelines}
            onOriginal={(original) => setBase({ ...base, original })}
            onFile={(file) => setBase({ ...base, file })}
          />
        )}
        <TextField
          label="Name"
          value={name}
          error={isTried || name.trim() !== '' ? nameError : undefined}
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
  )
}

function isTemplate(beginning: Beginning): beginning is TemplateId {
  return Object.hasOwn(templates, beginning)
}

type Known = readonly { readonly id?: string; readonly name: string }[]

/** Until the user gives another one. */
function nameOf({ beginning, original, file }: Base, pipelines: Known): string {
  const copied = pipelines.find(({ id }) => id === original)?.name
  if (beginning === 'copy') return copied === undefined ? '' : `${copied} (copy)`
  if (beginning === 'file') return textOf(file?.definition?.['name']) ?? ''
  if (!isTemplate(beginning)) return ''
  const { name } = templates[beginning]
  const isTaken = (wanted: string) => pipelines.some((pipeline) => pipeline.name.toLowerCase() === wanted)
  for (let number = 1; ; number++) {
    const wanted = number === 1 ? name : `${name} ${number}`
    if (!isTaken(wanted)) return wanted
  }
}

interface BaseFieldProps {
  readonly base: Base
  readonly error: string | undefined
  readonly pipelines: Known
  readonly onOriginal: (id: string | undefined) => void
  readonly onFile: (file: OpenedFile | undefined) => void
}

function BaseField({ base: { beginning, original }, error, pipelines, onOriginal, onFile }: BaseFieldProps) {
  if (beginning === 'copy') {
    const choices = pipelines.map(({ id = '', name }) => ({ value: id, label: name }))
    return (
      <Field label="Pipeline to copy" error={error} required>
        {(tied) => <SelectInput tied={tied} value={original} onChange={(value) => onOriginal(textOf(value))} choices={choices} />}
      </Field>
    )
  }
  if (beginning !== 'file') return null
  const open = async (file: File | undefined) => onFile(file === undefined ? undefined : await openFile(file))
  return (
    <Field label="File" error={error} required>
      {(tied) => (
        <input
          {...tied}
          type="file"
          accept=".json,.yaml,.yml,.txt,application/json"
          onChange={(event) => void open(event.currentTarget.files?.[0])}
        />
      )}
    </Field>
  )
}

function errorOfName(name: string, pipelines: Known): string | undefined {
  if (name === '') return editorWords.nameMissing
  const isTaken = pipelines.some((pipeline) => pipeline.name.toLowerCase() === name.toLowerCase())
  return isTaken ? `This application has a pipeline ${name} already.` : undefined
}

function errorOfBase({ beginning, original, file }: Base): string | undefined {
  if (beginning === 'copy' && original === undefined) return 'Choose a pipeline.'
  if (beginning === 'file' && file?.definition === undefined) return file?.error ?? 'Choose a file.'
  return undefined
}

/** @throws {ApiError} */
async function readBase(application: string, { beginning, original, file }: Base): Promise<Json> {
  if (beginning === 'copy' && original !== undefined) return copyOf(await readDefinition(application, original))
  if (beginning === 'file') return copyOf(file?.definition ?? {})
  return { keepWaitingPipelines: false, limitConcurrent: true, triggers: [], stages: [] }
}

interface OpenedFile {
  readonly definition?: Json
  readonly error?: string
}

async function openFile(file: File): Promise<OpenedFile> {
  try {
    const { parsed } = await readDefinitionFile(file)
    if (parsed.kind === 'definition') return { definition: parsed.definition }
    return { error: `${file.name} is no pipeline. ${parsed.problem.message}` }
  } catch (cause) {
    return { error: (cause as Error).message }
  }
}

/** Its own identity comes with the first save. */
function copyOf(definition: Json): Json {
  const { id: _id, index: _index, locked: _locked, ...rest } = withoutStamps(definition)
  return rest
}
