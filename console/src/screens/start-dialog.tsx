/** Starts a pipeline with valid parameters. */

import { objectOf, objectsOf, scalarOf } from '@fairlead/base/json/values.ts'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { to, useNavigate } from '../address.ts'
import { ApiError, calls, client, type Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { useRunsOf } from '../api/pipelines.ts'
import { useStartDenial } from '../api/rights.ts'
import { Banner } from '../components/button.tsx'
import { Denied } from '../components/denied.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { Check, ChoiceField, Field, TextField } from '../components/form-fields.tsx'
import { Name } from '../components/text.tsx'
import { isComplete, newestFirst, shortId } from '../model/execution.ts'
import { artifactsFor } from '../model/infrastructure.ts'
import { showHidden } from '../model/names.ts'
import { plural } from '../words.ts'

type Pipeline = Schemas['Pipeline']
type Parameter = Schemas['Parameter']
type Run = Schemas['Execution']

interface StartDialogProps {
  readonly pipeline: Pipeline
  /** `p.NAME` fills a field; `from` names a run whose values are taken, `image` what it is to deploy. */
  readonly query: Readonly<Record<string, string>>
  readonly onClose: () => void
}

const [maxRuns, maxImages] = [10, 30]
/** More options are a list. */
const maxRadios = 5

export function StartDialog(props: StartDialogProps) {
  const { from } = props.query
  const asked = from === undefined ? undefined : { path: { id: from } }
  const { body, error } = useLive('/pipelines/{id}', asked, 'open')
  if (from !== undefined && body === undefined && error === undefined) return null
  return <Form {...props} earlier={body} />
}

function Form({
  pipeline,
  query,
  onClose,
  earlier,
}: StartDialogProps & { earlier: Run | undefined }) {
  const { name, parameterConfig } = pipeline
  const denied = useStartDenial(pipeline)
  const navigate = useNavigate()
  const parameters = (parameterConfig ?? []).toSorted(
    (a, b) => Number(b['pinned'] === true) - Number(a['pinned'] === true),
  )
  const [values, setValues] = useState(() => initialValues(parameters, query, earlier))
  const [dryRun, setDryRun] = useState(false)
  const [isTried, setTried] = useState(false)
  const runs = newestFirst(useRunsOf(pipeline.id, maxRuns).body ?? [])
  const images = useImages(pipeline)
  const artifacts = query['image'] === undefined ? [] : artifactsFor(query['image'], pipeline)
  const earlierValues = (key: string) =>
    runs.flatMap(({ trigger }) => scalarOf(objectOf(trigger.parameters)[key]) ?? [])
  const shown = parameters.filter((parameter) => isShown(parameter, values))
  const isMissing = (parameter: Parameter) =>
    parameter.required === true && (values[parameter.name] ?? '').trim() === ''
  const run = () => {
    const sent = Object.fromEntries(
      shown.map((parameter) => [parameter.name, values[parameter.name] ?? '']),
    )
    return startPipeline(pipeline, sent, dryRun, artifacts)
  }
  const open = (execution: string) => {
    onClose()
    navigate(to.execution(execution))
  }
  return (
    <FormDialog
      action={`Start ${name}`}
      isValid={!shown.some(isMissing)}
      onClose={onClose}
      run={run}
      refreshes="/executions"
      onDone={open}
      isReady={denied === undefined}
      onTried={() => setTried(true)}
    >
      {denied !== undefined && <Banner tone="warning" children={<Denied reason={denied} />} />}
      {query['image'] !== undefined && (
        <p>{`Deploys ${[query['image'], ...artifacts.map(({ title }) => `as the artifact “${title}”`)].join(', ')}.`}</p>
      )}
      <Lead pipeline={pipeline} runs={runs} earlier={shown.length > 0 ? earlier : undefined} />
      {shown.map((parameter) => (
        <ParameterField
          key={parameter.name}
          parameter={parameter}
          value={values[parameter.name] ?? ''}
          error={isTried && isMissing(parameter) ? 'Enter a value.' : undefined}
          suggestions={[...new Set([...images(parameter.name), ...earlierValues(parameter.name)])]}
          onChange={(value) => setValues((before) => ({ ...before, [parameter.name]: value }))}
        />
      ))}
      <p class="field">
        <Check checked={dryRun} onChange={setDryRun}>
          Dry run: stages succeed without doing anything
        </Check>
      </p>
    </FormDialog>
  )
}

function Lead({
  pipeline,
  runs,
  earlier,
}: {
  pipeline: Pipeline
  runs: readonly Run[]
  earlier: Run | undefined
}) {
  const { description, parameterConfig, limitConcurrent } = pipeline
  const active = runs.filter(({ status }) => !isComplete(status)).length
  const others = `${plural(active, 'other run')} ${active === 1 ? 'is' : 'are'} active`
  const waits =
    limitConcurrent === true ? `; this one waits for ${active === 1 ? 'it' : 'them'}.` : '.'
  return (
    <>
      {description && (
        <p class="muted">
          <Name text={description} max={400} />
        </p>
      )}
      {active > 0 && <p class="muted">{others + waits}</p>}
      {earlier !== undefined && <p class="muted">With the values of run {shortId(earlier.id)}.</p>}
      {!parameterConfig?.length && <p>This pipeline has no parameters.</p>}
    </>
  )
}

/** Values of the address, else of the earlier run, else of the definition. */
function initialValues(
  parameters: readonly Parameter[],
  query: StartDialogProps['query'],
  earlier: Run | undefined,
) {
  const given = objectOf(earlier?.trigger.parameters)
  const entries = parameters.map(({ name, default: usual }) => {
    const value =
      query[`p.${name}`] ??
      scalarOf(given[name]) ??
      scalarOf(typeof usual === 'boolean' ? String(usual) : usual)
    return [name, value ?? '']
  })
  return Object.fromEntries(entries) as Readonly<Record<string, string>>
}

/** Versions of images by the parameter that chooses one: of `"imageId": "shop:${parameters.version}"`, those of `shop`. */
function useImages({ stages }: Pipeline): (parameter: string) => readonly string[] {
  const [image, parameter, provider] = useMemo(() => {
    const text = JSON.stringify(stages ?? [])
    const found = /"imageId":"([\w./-]+):\$\{ ?parameters\.(\w+) ?\}"/.exec(text)
    return [found?.[1], found?.[2], /"cloudProvider":"(\w+)"/.exec(text)?.[1] ?? '']
  }, [stages])
  const query =
    image === undefined ? undefined : { query: { provider, q: image, count: maxImages } }
  const images = useLive('/images/find', query, 'open').body ?? []
  const versions = images.flatMap(({ imageName, repository, tag }) => {
    const [name, version] = repository ? [repository, tag] : (imageName ?? '').split(':')
    return name === image && version ? [version] : []
  })
  return (name) => (name === parameter ? versions : [])
}

const comparisons: Readonly<Record<string, (left: string, right: string) => boolean>> = {
  '!=': (left, right) => left !== right,
  '>': (left, right) => Number(left) > Number(right),
  '<': (left, right) => Number(left) < Number(right),
  '>=': (left, right) => Number(left) >= Number(right),
  '<=': (left, right) => Number(left) <= Number(right),
}

/** A conditional parameter is shown while another one has the value that it names. */
function isShown(parameter: Parameter, values: Readonly<Record<string, string>>) {
  const { parameter: other, comparator, comparatorValue } = objectOf(parameter['conditional'])
  const [name, right = ''] = [scalarOf(other), scalarOf(comparatorValue)]
  const compare = comparisons[String(comparator)] ?? ((left: string) => left === right)
  return name === undefined || compare(values[name] ?? '', right)
}

interface ParameterFieldProps {
  readonly parameter: Parameter
  readonly value: string
  readonly error: string | undefined
  /** Where it has no options. */
  readonly suggestions: readonly string[]
  readonly onChange: (value: string) => void
}

function ParameterField({ parameter, value, error, suggestions, onChange }: ParameterFieldProps) {
  const { name, default: usual } = parameter
  const hasOptions = parameter['hasOptions'] === true
  const options = hasOptions
    ? objectsOf(parameter.options).flatMap(({ value: option }) => scalarOf(option) ?? [])
    : []
  const isSecret = /password|secret|token/i.test(name)
  const secret =
    isSecret && 'The value is stored with the run, and readers of the application can see it.'
  const help = [parameter.description, secret].filter(Boolean).join(' ') || undefined
  const label = showHidden(parameter.label || name)
  const field = { label, value, help, error, required: parameter.required === true, onChange }
  if (options.length > maxRadios) return <ChoiceField {...field} choices={['', ...options]} />
  if (options.length > 0) return <RadioField {...field} options={options} />
  if (/^(true|false)$/.test(String(usual))) {
    return (
      <div class="field">
        <Check checked={value === 'true'} onChange={(isOn) => onChange(String(isOn))}>
          <strong>{label}</strong> <span class="muted">{value === 'true' ? 'yes' : 'no'}</span>
        </Check>
        {help !== undefined && <p class="help">{help}</p>}
      </div>
    )
  }
  if (parameter['constraint'] === 'date') return <TextField {...field} input={{ type: 'date' }} />
  if (isSecret) return <TextField {...field} input={{ type: 'password' }} />
  return <GrowingField {...field} suggestions={suggestions} />
}

interface InputProps extends Omit<ParameterFieldProps, 'parameter' | 'suggestions'> {
  readonly label: string
  readonly help: string | undefined
  readonly required: boolean
}

function RadioField({
  options,
  value,
  onChange,
  ...field
}: InputProps & { readonly options: readonly string[] }) {
  return (
    <Field {...field}>
      {(tied) => (
        <div {...tied} class="row" role="radiogroup" aria-label={field.label} tabIndex={-1}>
          {options.map((option) => (
            <label key={option} class="check">
              <input
                type="radio"
                name={tied.id}
                value={option}
                checked={value === option}
                onChange={() => onChange(option)}
              />{' '}
              <Name text={option} />
            </label>
          ))}
        </div>
      )}
    </Field>
  )
}

/** A text of several lines where no earlier value is suggested. */
function GrowingField({
  suggestions,
  ...field
}: InputProps & Pick<ParameterFieldProps, 'suggestions'>) {
  const { value, onChange } = field
  const isLong =
    suggestions.length === 0 || [value, ...suggestions].some((text) => text.includes('\n'))
  const ref = useRef<(HTMLTextAreaElement & HTMLInputElement) | null>(null)
  // Suggestions that arrive exchange the field, and the focus stays with it.
  const hadFocus = ref.current !== null && ref.current === document.activeElement
  useLayoutEffect(() => {
    if (hadFocus) ref.current?.focus()
  }, [isLong])
  if (!isLong) return <TextField {...field} suggestions={suggestions} input={{ ref }} />
  const area = { ref, value, rows: Math.min(8, value.split('\n').length), spellcheck: false }
  return (
    <Field {...field}>
      {(tied) => (
        <textarea
          {...tied}
          {...area}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Field>
  )
}

const startUnclear =
  'The start was accepted, but no run appeared within 10 s. The pipeline may be disabled or in a quiet period.'
/** The 202 does not prove a start. */
const [attempts, attemptMs] = [20, 500]

/** @throws {ApiError} @returns the id of the execution, once it can be read */
export async function startPipeline(
  pipeline: Pipeline,
  parameters: Readonly<Record<string, string>>,
  dryRun: boolean,
  artifacts: ReturnType<typeof artifactsFor> = [],
): Promise<string> {
  const path = { application: pipeline.application, pipelineNameOrId: pipeline.id ?? pipeline.name }
  const received = {
    artifacts: artifacts.map(({ artifact }) => artifact),
    expectedArtifactIds: artifacts.map(({ id }) => id),
  }
  const body = {
    type: 'manual',
    parameters,
    ...(dryRun && { dryRun }),
    ...(artifacts.length > 0 && received),
  }
  const options = { params: { path }, body } as never
  const answer: unknown = await client.POST(
    '/pipelines/v2/{application}/{pipelineNameOrId}',
    options,
  )
  const { ref, eventId } = objectOf(answer)
  const id = scalarOf(ref)?.split('/').at(-1) ?? scalarOf(eventId)
  for (let attempt = 0; id !== undefined && attempt < attempts; attempt++) {
    const { data } = await calls.GET('/executions', {
      params: { query: { executionIds: id, expand: false } },
    })
    if (data?.length) return id
    await new Promise((resolve) => setTimeout(resolve, attemptMs))
  }
  throw new ApiError({ status: 202, message: startUnclear })
}
