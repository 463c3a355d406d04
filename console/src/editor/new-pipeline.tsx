/** Where a new pipeline begins: empty, as a copy, or from text. */

import { useEffect, useRef, useState } from 'preact/hooks'
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
import { words } from '../words.ts'
import { readDefinitionFile } from './definition-file.ts'
import { type Draft, withoutStamps } from './draft.ts'
import { Editor } from './editor.tsx'
import { SelectInput } from './inputs.tsx'
import { createDraft, openDraft, readDefinition } from './open-draft.ts'
import { editorWords } from './words.ts'

type Beginning = keyof typeof editorWords.beginnings

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
        crumbs={[...applicationCrumbs(application), { label: words.pipelines, href: to.pipelines(application) }]}
      />
      {!right.allowed && <Banner tone="warning">{right.reason}</Banner>}
      <BeginForm application={application} from={from} onBegun={onBegun} denied={right.reason} />
    </>
  )
}

function BeginForm({ application, from, onBegun, denied }: BeginProps & { readonly denied: string | undefined }) {
  const { route: navigate } = useLocation()
  const [base, setBase] = useState<Base>({ beginning: from === undefined ? 'empty' : 'copy', original: from, file: undefined })
  const [name, setName] = useState('')
  const [isTried, setTried] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const path = '/applications/{application}/pipelineConfigs'
  const pipelines = useLive(path, { path: { application } }, { refresh: 'open' }).reading.value.body ?? []
  const originalName = pipelines.find(({ id }) => id === base.original)?.name
  useEffect(() => {
    if (name === '' && originalName !== undefined && base.beginning === 'copy') setName(editorWords.copyOf(originalName))
  }, [originalName, base.beginning])
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('input:not([type="radio"])')?.focus()
  }, [])
  const nameError = errorOfName(name.trim(), pipelines)
  const baseError = errorOfBase(base)
  const { error, submit } = useSubmit({
    what: editorWords.begin,
    isReady: denied === undefined && nameError === undefined && baseError === undefined,
    run: async () => {
      const draft = createDraft(application, { ...(await readBase(application, base)), name: name.trim(), application })
      navigate(to.newPipeline(application, base.beginning === 'text' ? { tab: 'text' } : {}), true)
      onBegun(draft)
    },
  })
  const begin = (event: Event) => {
    setTried(true)
    submit(event)
    requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
  }
  const open = async (chosen: File | undefined) => {
    const file = chosen === undefined ? undefined : await openFile(chosen)
    setBase((before) => ({ ...before, file }))
    if (name.trim() === '') setName(textOf(file?.definition?.['name']) ?? '')
  }
  return (
    <form class="panel begin" ref={form} onSubmit={begin} noValidate>
      <TextField
        label={editorWords.name}
        help={editorWords.pipelineNameHelp}
        value={name}
        error={isTried || name.trim() !== '' ? nameError : undefined}
        required
        onChange={setName}
      />
      <Beginnings chosen={base.beginning} onChoose={(beginning) => setBase({ ...base, beginning })} />
      <BaseField
        base={base}
        error={isTried || base.file?.error !== undefined ? baseError : undefined}
        pipelines={pipelines}
        onOriginal={(original) => setBase({ ...base, original })}
        onFile={(file) => void open(file)}
      />
      {error !== undefined && <FailedAction error={error} />}
      <div class="row">
        <Button type="submit" kind="primary" denied={denied}>
          {editorWords.begin}
        </Button>
        <a class="button" href={to.pipelines(application)}>
          {words.cancel}
        </a>
        <span class="muted">{editorWords.beginNote}</span>
      </div>
    </form>
  )
}

/** What the new pipeline is made of. */
interface Base {
  readonly beginning: Beginning
  /** Id of the pipeline to copy. */
  readonly original: string | undefined
  readonly file: OpenedFile | undefined
}

interface BaseFieldProps {
  readonly base: Base
  readonly error: string | undefined
  readonly pipelines: readonly { readonly id?: string; readonly name: string }[]
  readonly onOriginal: (id: string | undefined) => void
  readonly onFile: (file: File | undefined) => void
}

function BaseField({ base: { beginning, original }, error, pipelines, onOriginal, onFile }: BaseFieldProps) {
  if (beginning === 'copy') {
    const choices = pipelines.map(({ id = '', name }) => ({ value: id, label: name }))
    return (
      <Field label={editorWords.original} error={error} required>
        {(tied) => <SelectInput tied={tied} value={original} onChange={(value) => onOriginal(textOf(value))} choices={choices} />}
      </Field>
    )
  }
  if (beginning !== 'file') return null
  return (
    <Field label={editorWords.file} error={error} required>
      {(tied) => (
        <input
          {...tied}
          type="file"
          accept=".json,.yaml,.yml,.txt,application/json"
          onChange={(event) => onFile(event.currentTarget.files?.[0])}
        />
      )}
    </Field>
  )
}

function errorOfName(name: string, pipelines: readonly { readonly name: string }[]): string | undefined {
  if (name === '') return editorWords.nameMissing
  const isTaken = pipelines.some((pipeline) => pipeline.name.toLowerCase() === name.toLowerCase())
  return isTaken ? editorWords.nameTaken(name) : undefined
}

function errorOfBase({ beginning, original, file }: Base): string | undefined {
  if (beginning === 'copy' && original === undefined) return editorWords.chooseOne
  if (beginning === 'file' && file?.definition === undefined) return file?.error ?? editorWords.chooseFile
  return undefined
}

/** @throws {ApiError} */
async function readBase(application: string, { beginning, original, file }: Base): Promise<Json> {
  if (beginning === 'copy' && original !== undefined) return copyOf(await readDefinition(application, original))
  return beginning === 'file' ? copyOf(file?.definition ?? {}) : empty
}

function Beginnings({ chosen, onChoose }: { chosen: Beginning; onChoose: (beginning: Beginning) => void }) {
  return (
    <fieldset class="field">
      <legend>{editorWords.beginWith}</legend>
      {(Object.keys(editorWords.beginnings) as Beginning[]).map((each) => (
        <label key={each} class="check begin-choice">
          <input type="radio" name="beginning" checked={each === chosen} onChange={() => onChoose(each)} />
          <span>
            <strong>{editorWords.beginnings[each].label}</strong>
            <span class="help">{editorWords.beginnings[each].help}</span>
          </span>
        </label>
      ))}
    </fieldset>
  )
}

const empty: Json = { keepWaitingPipelines: false, limitConcurrent: true, triggers: [], stages: [] }

interface OpenedFile {
  readonly definition?: Json
  readonly error?: string
}

async function openFile(file: File): Promise<OpenedFile> {
  try {
    const { parsed } = await readDefinitionFile(file)
    if (parsed.kind === 'definition') return { definition: parsed.definition }
    return { error: editorWords.fileUnreadable(file.name, parsed.problem.message) }
  } catch (cause) {
    return { error: (cause as Error).message }
  }
}

/** Its own identity comes with the first save. */
function copyOf(definition: Json): Json {
  const { id: _id, index: _index, locked: _locked, ...rest } = withoutStamps(definition)
  return rest
}
