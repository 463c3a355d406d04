/** The pipeline editor: one draft, and its views in tabs that are loaded when they are opened. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { to } from '../address.ts'
import { type ApiError, asApiError } from '../api/api-error.ts'
import { useLive } from '../api/live.ts'
import { Banner } from '../components/banner.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { ErrorState, Loading } from '../components/states.tsx'
import { Tabs } from '../components/tabs.tsx'
import { textOf } from '../model/read.ts'
import type { ScreenProps } from '../screen.ts'
import { words as commonWords } from '../words.ts'
import { toStageTypes } from './descriptions.ts'
import type { Draft, TabProps } from './draft.ts'
import { openDraft } from './open-draft.ts'
import { words } from './words.ts'

type TabComponent = ComponentType<TabProps>

interface View {
  readonly id: 'graph' | 'text' | 'diff' | 'history' | 'dry-run'
  readonly label: string
  readonly load: () => Promise<TabComponent>
}

const views: readonly View[] = [
  { id: 'graph', label: words.graph, load: async () => (await import('./graph-tab.tsx')).GraphTab },
  { id: 'text', label: words.text, load: async () => (await import('./text-tab.tsx')).TextTab },
  { id: 'diff', label: words.diff, load: async () => (await import('./diff-tab.tsx')).DiffTab },
  { id: 'history', label: words.history, load: async () => (await import('./history-tab.tsx')).HistoryTab },
  { id: 'dry-run', label: words.dryRun, load: async () => (await import('./dry-run-tab.tsx')).DryRunTab },
]

export function EditPipeline({ params, query }: ScreenProps) {
  const { application = '', id = '' } = params as { application?: string; id?: string }
  const [draft, setDraft] = useState<Draft | undefined>(undefined)
  const [error, setError] = useState<ApiError | undefined>(undefined)
  const open = () => {
    setError(undefined)
    openDraft(application, id).then(setDraft, (cause: unknown) => setError(asApiError(cause)))
  }
  useEffect(open, [application, id])
  if (error !== undefined) return <ErrorState error={error} onRetry={open} />
  if (draft === undefined) return <Loading rows={8} />
  return <Editor draft={draft} query={query} />
}

export function Editor({ draft, query }: { draft: Draft; query: ScreenProps['query'] }) {
  const change = useQueryChange()
  const types = useLive('/capabilities/stageTypes', {}, { refresh: 'open' }).reading.value.body
  useEffect(() => {
    if (types !== undefined) draft.types.value = toStageTypes(types)
  }, [types])
  const { application } = draft
  const name = textOf(draft.definition.value['name']) ?? words.newPipeline
  const selected = views.find(({ id }) => id === query['tab']) ?? (views[0] as View)
  const readOnly = draft.readOnly.value
  return (
    <>
      <PageHead
        tab={words.edit(name)}
        title={<Name text={name} max={80} />}
        crumbs={[
          { label: commonWords.applications, href: to.applications() },
          { label: <Name text={application} />, href: to.application(application) },
          { label: commonWords.pipelines, href: to.pipelines(application) },
        ]}
      />
      {readOnly !== undefined && <Banner tone="info">{readOnly}</Banner>}
      <Tabs
        label={words.views}
        tabs={views}
        selected={selected.id}
        onSelect={(id) => change({ tab: id === 'graph' ? undefined : id })}
      >
        <LoadedView key={selected.id} view={selected} draft={draft} />
      </Tabs>
    </>
  )
}

/** Loaded once; a view that was opened before is shown at once. */
const loaded = new Map<string, TabComponent>()

function LoadedView({ view, draft }: { view: View; draft: Draft }) {
  const [Tab, setTab] = useState<TabComponent | undefined>(() => loaded.get(view.id))
  const [error, setError] = useState<ApiError | undefined>(undefined)
  const load = () => {
    setError(undefined)
    view.load().then(
      (component) => {
        loaded.set(view.id, component)
        setTab(() => component)
      },
      (cause: unknown) => setError(asApiError(cause)),
    )
  }
  useEffect(() => {
    if (Tab === undefined) load()
  }, [])
  if (error !== undefined) return <ErrorState error={error} onRetry={load} />
  return Tab === undefined ? <Loading rows={6} /> : <Tab draft={draft} />
}
