/** Where a new pipeline begins: empty, as a copy, or from text. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { type ApiError, asApiError } from '../api/api-error.ts'
import { useLive } from '../api/live.ts'
import { saveOperation, useRight } from '../api/rights.ts'
import { Banner } from '../components/banner.tsx'
import { Field } from '../components/field.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { FailedAction } from '../components/states.tsx'
import { type Json, textOf } from '../model/read.ts'
import type { ScreenProps } from '../screen.ts'
import { words as commonWords } from '../words.ts'
import { readDefinitionFile } from './definition-file.ts'
import { type Draft, withoutStamps } from './draft.ts'
import { Editor } from './editor.tsx'
import { SelectInput } from './inputs.tsx'
import { createDraft, openedNewDraft, readDefinition } from './open-draft.ts'
import { words } from './words.ts'

type Beginning = keyof typeof words.beginnings

export function NewPipeline({ params, query }: ScreenProps) {
  const { application = '' } = params as { application?: string }
  // What was begun goes on, unless a copy of another pipeline is wanted.
  const [draft, setDraft] = useState<Draft | undefined>(() =>
    query['from'] === undefined ? openedNewDraft(application) : undefined,
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
  const { route: navigate } = useLocation()
  const [beginning, setBeginning] = useState<Beginning>(from === undefined ? 'empty' : 'copy')
  const [name, setName] = useState('')
  const [original, setOriginal] = useState(from)
  const [file, setFile] = useState<OpenedFile | undefined>(undefined)
  const [isTried, setTried] = useState(false)
  const [error, setError] = useState<ApiError | undefined>(undefined)
  const form = useRef<HTMLFormElement>(null)
  const pipelines = useLive('/applications/{application}/pipelineConfigs', { path: { application } }, { refresh: 'open' }).reading
    .value.body
  const right = useRight({ operation: saveOperation, application })
  const taken = pipelines?.some((pipeline) => pipeline.name.toLowerCase() === name.trim().toLowerCase()) === true
  const originalName = pipelines?.find(({ id }) => id === original)?.name
  const nameError = taken ? words.nameTaken(name.trim()) : isTried && name.trim() === '' ? words.nameMissing : undefined
  const originalError = isTried && beginning === 'copy' && original === undefined ? words.chooseOne : undefined
  const fileError = file?.error ?? (isTried && beginning === 'file' && file === undefined ? words.chooseFile : undefined)
  useEffect(() => {
    if (name === '' && originalName !== undefined && beginning === 'copy') setName(words.copyOf(originalName))
  }, [originalName, beginning])
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('input:not([type="radio"])')?.focus()
  }, [])

  const open = async (chosen: File | undefined) => {
    const opened = chosen === undefined ? undefined : await openFile(chosen)
    setFile(opened)
    if (name.trim() === '') setName(textOf(opened?.definition?.['name']) ?? '')
  }
  const begin = async (event: Event) => {
    event.preventDefault()
    setTried(true)
    setError(undefined)
    if (!right.allowed) return
    const lacksBase = (beginning === 'copy' && original === undefined) || (beginning === 'file' && file?.definition === undefined)
    if (taken || name.trim() === '' || lacksBase) {
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
      return
    }
    try {
      const base =
        beginning === 'copy' && original !== undefined
          ? copyOf(await readDefinition(application, original))
          : beginning === 'file'
            ? copyOf(file?.definition ?? {})
            : empty
      const draft = createDraft(application, { ...base, name: name.trim(), application })
      navigate(to.newPipeline(application, beginning === 'text' ? { tab: 'text' } : {}), true)
      onBegun(draft)
    } catch (cause) {
      setError(asApiError(cause))
    }
  }
  return (
    <>
      <PageHead
        tab={words.newPipeline}
        title={words.newPipeline}
        crumbs={[
          { label: commonWords.applications, href: to.applications() },
          { label: <Name text={application} />, href: to.application(application) },
          { label: commonWords.pipelines, href: to.pipelines(application) },
        ]}
      />
      {!right.allowed && <Banner tone="warning">{right.reason}</Banner>}
      <form class="panel begin" ref={form} onSubmit={(event) => void begin(event)} noValidate>
        <Field label={words.name} help={words.pipelineNameHelp} error={nameError} required>
          {(tied) => <input {...tied} value={name} autoComplete="off" onInput={(event) => setName(event.currentTarget.value)} />}
        </Field>
        <fieldset class="field">
          <legend>{words.beginWith}</legend>
          {(Object.keys(words.beginnings) as Beginning[]).map((each) => (
            <label key={each} class="check begin-choice">
              <input type="radio" name="beginning" checked={each === beginning} onChange={() => setBeginning(each)} />
              <span>
                <strong>{words.beginnings[each].label}</strong>
                <span class="help">{words.beginnings[each].help}</span>
              </span>
            </label>
          ))}
        </fieldset>
        {beginning === 'copy' && (
          <Field label={words.original} error={originalError} required>
            {(tied) => (
              <SelectInput
                tied={tied}
                value={original}
                onChange={(value) => setOriginal(textOf(value))}
                choices={(pipelines ?? []).map((pipeline) => ({ value: pipeline.id ?? '', label: pipeline.name }))}
              />
            )}
          </Field>
        )}
        {beginning === 'file' && (
          <Field label={words.file} error={fileError} required>
            {(tied) => (
              <input
                {...tied}
                type="file"
                accept=".json,.yaml,.yml,.txt,application/json"
                onChange={(event) => void open(event.currentTarget.files?.[0])}
              />
            )}
          </Field>
        )}
        {error !== undefined && <FailedAction error={error} />}
        <div class="row">
          <button type="submit" class="button is-primary" aria-disabled={!right.allowed} title={right.reason}>
            {words.begin}
          </button>
          <a class="button" href={to.pipelines(application)}>
            {commonWords.cancel}
          </a>
          <span class="muted">{words.beginNote}</span>
        </div>
      </form>
    </>
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
    return { error: words.fileUnreadable(file.name, parsed.problem.message) }
  } catch (cause) {
    return { error: (cause as Error).message }
  }
}

/** Its own identity comes with the first save. */
function copyOf(definition: Json): Json {
  const { id: _id, index: _index, locked: _locked, ...rest } = withoutStamps(definition)
  return rest
}
