/** Starts a pipeline with valid parameters. */

import { useMemo, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { ApiError } from '../api/api-error.ts'
import { actionHeaders, client, type Schemas, unwrap } from '../api/client.ts'
import { refreshMatching, useLive } from '../api/live.ts'
import { useRunsOf } from '../api/pipelines.ts'
import { FormDialog } from '../components/form-dialog.tsx'
import { CheckField } from '../components/form-fields.tsx'
import { Name } from '../components/name.tsx'
import { newestFirst, shortId } from '../model/execution.ts'
import { objectOf, textOf } from '../model/read.ts'
import { isComplete } from '../model/status.ts'
import { plural } from '../words.ts'
import { ParameterField } from './parameter-field.tsx'

type Pipeline = Schemas['Pipeline']
type Parameter = Schemas['Parameter']
type Execution = Schemas['Execution']

interface StartDialogProps {
  readonly pipeline: Pipeline
  /** `p.NAME` fills a field; `from` names a run whose values are taken. */
  readonly query: Readonly<Record<string, string>>
  readonly onClose: () => void
}

const maxRuns = 10
const maxImages = 30
/** The 202 does not prove a start. */
const attempts = 10
const attemptMs = 1000

export function StartDialog({ pipeline, query, onClose }: StartDialogProps) {
  const { from } = query
  const earlier = useLive('/pipelines/{id}', from === undefined ? undefined : { path: { id: from } }, { refresh: 'open' }).reading
    .value
  if (from !== undefined && earlier.body === undefined && earlier.error === undefined) return null
  const given = objectOf(earlier.body?.trigger?.parameters)
  const initial = parametersOf(pipeline).map(({ name, default: usual }) => {
    const value = query[`p.${name}`] ?? textOf(given[name]) ?? textOf(typeof usual === 'boolean' ? String(usual) : usual)
    return [name, value ?? ''] as const
  })
  return <Form {...{ pipeline, onClose, from: earlier.body && from }} initial={Object.fromEntries(initial)} />
}

/** Pinned ones first. */
function parametersOf(pipeline: Pipeline): readonly Parameter[] {
  return (pipeline.parameterConfig ?? []).toSorted((a, b) => Number(b['pinned'] === true) - Number(a['pinned'] === true))
}

interface FormProps extends Omit<StartDialogProps, 'query'> {
  readonly initial: Readonly<Record<string, string>>
  /** The run whose values these are. */
  readonly from: string | undefined
}

function Form({ pipeline, initial, from, onClose }: FormProps) {
  const { route: navigate } = useLocation()
  const [values, setValues] = useState(initial)
  const [dryRun, setDryRun] = useState(false)
  const [isTried, setTried] = useState(false)
  const runs = newestFirst(useRunsOf(pipeline.id, maxRuns).reading.value.body ?? [])
  const images = useImages(pipeline)
  const shown = parametersOf(pipeline).filter((parameter) => isShown(parameter, values))
  const isMissing = ({ name, required }: Parameter) => required === true && (values[name] ?? '').trim() === ''
  const start = async (isOpen: () => boolean) => {
    const sent = Object.fromEntries(shown.map(({ name }) => [name, values[name] ?? '']))
    const execution = await startPipeline(pipeline, sent, dryRun)
    refreshMatching('/executions')
    if (isOpen()) {
      onClose()
      navigate(to.execution(execution))
    }
    return undefined
  }
  return (
    <FormDialog
      title={`Start ${pipeline.name}`}
      action={`Start ${pipeline.name}`}
      isValid={!shown.some(isMissing)}
      onTried={() => setTried(true)}
      onClose={onClose}
      run={start}
    >
      <Lead pipeline={pipeline} from={shown.length > 0 ? from : undefined} runs={runs} />
      {shown.map((parameter) => (
        <ParameterField
          key={parameter.name}
          parameter={parameter}
          value={values[parameter.name] ?? ''}
          error={isTried && isMissing(parameter) ? 'Enter a value.' : undefined}
          suggestions={[...new Set([...images(parameter.name), ...earlierValues(runs, parameter.name)])]}
          onChange={(value) => setValues((before) => ({ ...before, [parameter.name]: value }))}
        />
      ))}
      <CheckField label="Dry run: stages succeed without doing anything" checked={dryRun} onChange={setDryRun} />
    </FormDialog>
  )
}

function Lead({ pipeline, from, runs }: Pick<FormProps, 'pipeline' | 'from'> & { runs: readonly Execution[] }) {
  const { description, parameterConfig, limitConcurrent } = pipeline
  const active = runs.filter(({ status }) => !isComplete(status)).length
  const others = `${plural(active, 'other run')} ${active === 1 ? 'is' : 'are'} active`
  const waits = limitConcurrent === true ? `; this one waits for ${active === 1 ? 'it' : 'them'}.` : '.'
  return (
    <>
      {description && (
        <p class="muted">
          <Name text={description} max={400} />
        </p>
      )}
      {active > 0 && <p class="muted">{others + waits}</p>}
      {from !== undefined && <p class="muted">With the values of run {shortId(from)}.</p>}
      {!parameterConfig?.length && <p>This pipeline has no parameters.</p>}
    </>
  )
}

function earlierValues(runs: readonly Execution[], name: string): readonly string[] {
  return runs.flatMap(({ trigger }) => textOf(objectOf(trigger.parameters)[name]) ?? [])
}

/** Versions of images by the parameter that chooses one: of `"imageId": "shop:${parameters.version}"`, those of `shop`. */
function useImages({ stages }: Pipeline): (parameter: string) => readonly string[] {
  const [image, parameter, provider] = useMemo(() => {
    const text = JSON.stringify(stages ?? [])
    const found = /"imageId":"([\w./-]+):\$\{ ?parameters\.(\w+) ?\}"/.exec(text)
    return [found?.[1], found?.[2], /"cloudProvider":"(\w+)"/.exec(text)?.[1] ?? '']
  }, [stages])
  const query = image === undefined ? undefined : { query: { provider, q: image, count: maxImages } }
  const images = useLive('/images/find', query, { refresh: 'open' }).reading.value.body ?? []
  const versions = images.flatMap(({ imageName, repository, tag }) => {
    const [name, version] = repository ? [repository, tag] : (imageName ?? '').split(':')
    return name === image && version ? [version] : []
  })
  return (name) => (name === parameter ? versions : [])
}

const startUnclear = 'The start was accepted, but no run appeared within 10 s. The pipeline may be disabled or in a quiet period.'

/** @throws {ApiError} @returns the id of the execution, once it can be read */
export async function startPipeline(
  pipeline: Pipeline,
  parameters: Readonly<Record<string, string>>,
  dryRun: boolean,
): Promise<string> {
  const path = { application: pipeline.application, pipelineNameOrId: pipeline.id ?? pipeline.name }
  const body = { type: 'manual', parameters, ...(dryRun && { dryRun }) }
  const options = { params: { path }, body, headers: actionHeaders } as never
  const answer: unknown = await unwrap(client.POST('/pipelines/v2/{application}/{pipelineNameOrId}', options))
  const { ref, eventId } = objectOf(answer)
  const id = textOf(ref)?.split('/').at(-1) ?? textOf(eventId)
  if (id === undefined) throw new ApiError({ status: 202, message: startUnclear })
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { response } = await client.GET('/pipelines/{id}', { params: { path: { id } } })
    if (response.ok) return id
    await new Promise((resolve) => setTimeout(resolve, attemptMs))
  }
  throw new ApiError({ status: 202, message: startUnclear })
}

const comparisons: Readonly<Record<string, (left: string, right: string) => boolean>> = {
  '!=': (left, right) => left !== right,
  '>': (left, right) => Number(left) > Number(right),
  '<': (left, right) => Number(left) < Number(right),
  '>=': (left, right) => Number(left) >= Number(right),
  '<=': (left, right) => Number(left) <= Number(right),
}

/** A conditional parameter is shown while another one has the value that it names. */
function isShown(parameter: Parameter, values: Readonly<Record<string, string>>): boolean {
  const { parameter: other, comparator, comparatorValue } = objectOf(parameter['conditional'])
  const [name, right = ''] = [textOf(other), textOf(comparatorValue)]
  const compare = comparisons[String(comparator)] ?? ((left: string) => left === right)
  return name === undefined || compare(values[name] ?? '', right)
}
