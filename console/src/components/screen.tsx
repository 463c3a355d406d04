/** The heads of screens, their panels, and what stands in a panel instead of, or above, its content. */
import { textsOf } from '@fairlead/base/json/values.ts'
import { Component, type ComponentChildren, type ComponentType, createContext } from 'preact'
import { useContext, useEffect, useId, useState } from 'preact/hooks'
import { apiPath, applicationHere, to } from '../address.ts'
import type { ApiError } from '../api/client.ts'
import { useCloudProviders } from '../api/cloud-providers.ts'
import { type Live, useLive } from '../api/live.ts'
import { useAttributes } from '../api/pipelines.ts'
import { questionBehind, useRefusal } from '../api/rights.ts'
import { user } from '../api/session.ts'
import { showDisguised } from '../model/names.ts'
import { noteRecent } from '../model/recent.ts'
import { formatClock, now } from '../model/time.ts'
import { describeError } from '../words.ts'
import { ActionButton, Banner, Button, CopyButton } from './button.tsx'
import { Denied } from './denied.tsx'
import { Menu, type MenuItem } from './menu.tsx'
import { LinkTabs } from './tabs.tsx'
import { Icon, type IconName, Name } from './text.tsx'

interface PageHeadProps {
  /** The title of the browser's tab. */
  readonly tab: string
  /** Default: title of the tab. */
  readonly title?: ComponentChildren
  readonly crumbs?: readonly { readonly label: ComponentChildren; readonly href: string }[]
  /** Number of things that the screen lists, once it is known. */
  readonly count?: number
  /** Beside the title, such as its status. */
  readonly state?: ComponentChildren
  readonly actions?: ComponentChildren
  /** Below: the line that says what is true now. */
  readonly children?: ComponentChildren
}

export const brand =
  document.querySelector<HTMLMetaElement>('meta[name="application-name"]')?.content ?? 'Fairlead'

/** Where a screen stands beside another one: its own address, and that of the other one alone. */
export const InPanel = createContext<{ readonly page: string; readonly close: string } | undefined>(
  undefined,
)

export function PageHead({
  tab,
  title,
  crumbs = [],
  count,
  state,
  actions,
  children,
}: PageHeadProps) {
  const panel = useContext(InPanel)
  const shownCrumbs = panel === undefined ? crumbs : crumbs.slice(-1)
  const Title = panel === undefined ? 'h1' : 'h2'
  useEffect(() => {
    if (panel === undefined) document.title = `${showDisguised(tab)} - ${brand}`
  }, [tab])
  return (
    <header class="page-head">
      {shownCrumbs.length > 0 && (
        <nav aria-label={panel === undefined ? 'Path' : `Path of ${tab}`} class="crumbs">
          <ol>
            {shownCrumbs.map(({ label, href }) => (
              <li key={href}>
                <a href={href}>{label}</a>
              </li>
            ))}
          </ol>
        </nav>
      )}
      <div class="page-title">
        <Title>{title ?? <Name text={tab} />}</Title>
        {count !== undefined && <span class="count">{count.toLocaleString()}</span>}
        {state}
        <div class="grow" />
        {actions !== undefined && <div class="row">{actions}</div>}
        {panel !== undefined && (
          <div class="panel-controls">
            <a
              class="icon-button"
              href={panel.page}
              data-page
              aria-label="Open as a page"
              title="Open as a page"
            >
              <Icon name="right" />
            </a>
            <a class="icon-button" href={panel.close} aria-label="Close" title="Close (Esc)">
              <Icon name="close" />
            </a>
          </div>
        )}
      </div>
      {children}
    </header>
  )
}

/** The path to a screen below an application. */
export function applicationCrumbs(application: string) {
  return [
    { label: 'Applications', href: to.applications() },
    { label: <Name text={application} />, href: to.application(application) },
  ]
}

export function pipelineCrumbs(application: string) {
  return [
    ...applicationCrumbs(application),
    { label: 'Pipelines', href: to.pipelines(application) },
  ]
}

interface ApplicationHeadProps extends Pick<PageHeadProps, 'tab' | 'state' | 'actions'> {
  readonly application: string
}

export function ApplicationHead({ application, tab, ...head }: ApplicationHeadProps) {
  const hasResources = useCloudProviders().some((provider) => provider.hasManifests === true)
  const { body, error } = useAttributes(application)
  const isUnknown = error?.status === 404 && body === undefined
  useEffect(() => noteRecent(application), [application])
  const balancers = useLive(
    '/applications/{application}/loadBalancers',
    { path: { application } },
    'open',
  ).body
  const jobs = useLive(
    '/applications/{applicationName}/jobs',
    { path: { applicationName: application } },
    'open',
  ).body
  const hasGroups = balancers?.some(({ securityGroups }) => textsOf(securityGroups).length > 0)
  const title = <Name text={application} />
  return (
    <PageHead
      tab={`${application}: ${tab}`}
      crumbs={applicationCrumbs(application).slice(0, 1)}
      {...head}
      title={title}
    >
      {isUnknown ? (
        <EmptyState
          icon="search"
          text={`There is no application ${application}, or you may not read it.`}
        >
          <a class="button" href={to.applications()}>
            Applications
          </a>
        </EmptyState>
      ) : (
        <LinkTabs
          label={application}
          tabs={[
            { label: 'Overview', href: to.application(application) },
            { label: 'Pipelines', href: to.pipelines(application) },
            { label: 'Runs', href: to.runs(application) },
            {
              label: 'Load balancers',
              href: to.places('load-balancers', application),
              isEmpty: !balancers?.length,
            },
            {
              label: 'Security groups',
              href: to.places('security-groups', application),
              isEmpty: !hasGroups,
            },
            ...(hasResources ? [{ label: 'Resources', href: to.resources(application) }] : []),
            { label: 'Jobs', href: to.jobs(application), isEmpty: !jobs?.length },
            { label: 'Tasks', href: to.tasks(application) },
            { label: 'Settings', href: to.settings(application) },
          ]}
        />
      )}
    </PageHead>
  )
}

interface HeadActionsProps {
  /** Name of the thing that the screen shows. */
  readonly name: string
  readonly actions: readonly MenuItem[]
  /** Actions beside the menu, where there is room. */
  readonly shown: readonly MenuItem[]
}

export function HeadActions({ name, actions, shown }: HeadActionsProps) {
  return (
    <>
      {shown.map((action) => (
        <span key={action.label} class="hide-narrow">
          <ActionButton action={action} />
        </span>
      ))}
      <Menu label={`Actions of ${name}`} items={actions} class="button">
        Actions
      </Menu>
    </>
  )
}

interface PanelProps {
  readonly title: ComponentChildren
  readonly count?: number | string
  /** At the right of the title. */
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
  readonly class?: string
  /** Without room at the sides, for tables. */
  readonly flush?: boolean
}

export function Panel({
  title,
  count,
  actions,
  children,
  class: more = '',
  flush = false,
}: PanelProps) {
  const id = useId()
  return (
    <section class={`panel ${flush ? 'is-flush' : ''} ${more}`} aria-labelledby={id}>
      <header class="panel-head">
        <h2 id={id}>
          {title}
          {count !== undefined && <span class="count">{count.toLocaleString()}</span>}
        </h2>
        {actions !== undefined && <div class="row">{actions}</div>}
      </header>
      <div class="panel-body">
        <ErrorBoundary>{children}</ErrorBoundary>
      </div>
    </section>
  )
}

/** Nothing for 200 ms, then bars in the shape of rows; after 8 s a sentence. */
export function Loading({ rows = 4 }: { rows?: number }) {
  const [since] = useState(now.peek())
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), 200)
    return () => clearTimeout(timer)
  }, [])
  const seconds = Math.round((now.value - since) / 1000)
  return (
    <div class="loading" aria-busy="true">
      <span class="visually-hidden">Loading</span>
      {isSlow && Array.from({ length: rows }, (_, index) => <div key={index} class="bar" />)}
      {seconds >= 8 && <p class="muted">{`Still waiting for Fairlead (${seconds} s).`}</p>}
    </div>
  )
}

/** @param children What makes the first one. */
export function EmptyState({
  text,
  icon = 'box',
  children,
}: {
  text: string
  icon?: IconName
  children?: ComponentChildren
}) {
  return (
    <div class="state">
      <Icon name={icon} size={20} />
      <p>{text}</p>
      {children !== undefined && <div class="row">{children}</div>}
    </div>
  )
}

export function ErrorState({ error, onRetry }: { error: ApiError; onRetry: () => void }) {
  const { title, advice } = describeError(error)
  const refusal = useRefusal(error)
  const isForbidden = error.status === 403
  const roles = user.value?.roles ?? []
  // Without a question behind it, the read itself.
  const operation = error.path === undefined ? undefined : `GET ${error.path.slice(apiPath.length)}`
  const asked = refusal === undefined ? undefined : questionBehind(refusal)
  return (
    <div class={`state is-failed ${isForbidden ? 'is-forbidden' : ''}`} role="alert">
      <Icon name={isForbidden ? 'lock' : 'warn'} size={20} />
      <p>
        <strong>{refusal ?? title}</strong> {advice}
      </p>
      {isForbidden && (
        <p class="muted">
          {roles.length === 0 ? 'You have no role.' : `Your roles: ${roles.join(', ')}.`}{' '}
          {refusal === undefined &&
            'Ask the owner of the application or an administrator for the missing permission.'}
        </p>
      )}
      <div class="row">
        <Button onClick={onRetry}>Try again</Button>
        {isForbidden && (
          <a
            class="button"
            href={to.access('explain', {
              ...(asked ?? { operation, application: applicationHere() }),
            })}
          >
            Explain my rights
          </a>
        )}
        <RequestId id={error.requestId} />
      </div>
    </div>
  )
}

interface FailedActionProps {
  readonly error: ApiError
  /** What failed, where the place does not say it. */
  readonly lead?: ComponentChildren
  /** Buttons. */
  readonly children?: ComponentChildren
}

/** In a dialog whose action has failed, whose fields stay; or above the page. */
export function FailedAction({ error, lead, children }: FailedActionProps) {
  const { title, advice } = describeError(error, 'change')
  const refusal = useRefusal(error)
  return (
    <Banner tone="failed" actions={children}>
      {lead !== undefined && <>{lead}: </>}
      <strong>{refusal === undefined ? title : <Denied reason={refusal} />}</strong> {advice}{' '}
      <RequestId id={error.requestId} />
    </Banner>
  )
}

function RequestId({ id }: { id: string | undefined }) {
  if (id === undefined) return null
  return (
    <span class="muted row">
      Request <code>{id.slice(0, 8)}…</code>
      <CopyButton text={id} label="Copy the request id" />
    </span>
  )
}

interface LoadedProps<Body> {
  readonly live: Live<Body>
  readonly rows?: number
  /** The heading while there is no body, for a screen that consists of this read. */
  readonly title?: string
  readonly children: (body: NonNullable<Body>) => ComponentChildren
  /** Where there is nothing: an empty list, or no body. A text has an icon. */
  readonly empty?: ComponentChildren
  readonly icon?: IconName
}

/** Shows the body of a read in whatever state it is; the last good answer stays while newer reads fail. */
export function Loaded<Body>(props: LoadedProps<Body>) {
  const { live, rows, title, children, empty, icon } = props
  const { body, error, readAtMs } = live.reading.value
  const hasBody = body !== undefined && body !== null
  if (hasBody && !(Array.isArray(body) && body.length === 0)) {
    return (
      <>
        <Stale live={live} />
        {children(body)}
      </>
    )
  }
  const isFailed = error !== undefined && !hasBody
  return (
    <>
      {title !== undefined && <PageHead tab={title} />}
      {isFailed && <ErrorState error={error} onRetry={() => live.refresh()} />}
      {!isFailed && readAtMs === undefined && <Loading rows={rows} />}
      {!isFailed &&
        readAtMs !== undefined &&
        (typeof empty === 'string' ? <EmptyState icon={icon} text={empty} /> : empty)}
    </>
  )
}

/** What has gone says so; after two other failed reads: how old the data is, and when the next read is. */
export function Stale({ live }: { live: Live<unknown> }) {
  const { error, failures, readAtMs, nextTryAtMs } = live.reading.value
  if (error === undefined || readAtMs === undefined) return null
  if (error.status !== 404 && failures < 2) return null
  const seconds = Math.max(0, Math.ceil(((nextTryAtMs ?? now.value) - now.value) / 1000))
  const clock = formatClock(readAtMs)
  return (
    <p class="stale" role="status">
      <Icon name="warn" />{' '}
      {error.status === 404
        ? `This was deleted, or you may no longer read it. The page shows what it read at ${clock}.`
        : `Data from ${clock}. ${describeError(error).title} Next try in ${seconds} s.`}
    </p>
  )
}

export class ErrorBoundary extends Component<
  { children: ComponentChildren },
  { readonly error: Error | undefined }
> {
  override state = { error: undefined as Error | undefined }

  static override getDerivedStateFromError(error: Error) {
    return { error }
  }

  override componentDidCatch(error: Error): void {
    console.error(error)
  }

  override render() {
    const { error } = this.state
    if (error === undefined) return this.props.children
    const report = `${location.href}\n${navigator.userAgent}\n${error.stack ?? error.message}`
    return (
      <div class="state is-failed" role="alert">
        <p>
          This panel could not be drawn. The rest of the page works. Copy the report for your
          operator.
        </p>
        <p class="row">
          <Button onClick={() => this.setState({ error: undefined })}>Try again</Button>
          <CopyButton text={report} label="Copy the report" />
        </p>
      </div>
    )
  }
}

type Load<Props> = () => Promise<ComponentType<Props>>

/** Loaded once; a part that was shown before is shown at once. */
const loaded = new Map<unknown, unknown>()

/** A part of a screen that is loaded when it is first shown. */
export function Lazy<Props>({ load, props }: { load: Load<Props>; props: Props }) {
  const [, redraw] = useState(0)
  const [failed, setFailed] = useState<Load<Props>>()
  useEffect(() => {
    if (loaded.has(load)) return
    load().then(
      (component) => {
        loaded.set(load, component)
        redraw((count) => count + 1)
      },
      () => setFailed(() => load),
    )
  }, [load])
  const Part = loaded.get(load) as ComponentType<Props> | undefined
  if (Part !== undefined) return <Part {...(props as Props & object)} />
  if (failed !== load) return <Loading rows={6} />
  // A part that was not loaded before an upgrade does not exist any more.
  return (
    <Banner
      tone="info"
      actions={<Button onClick={() => location.reload()}>Load the page again</Button>}
    >
      Fairlead was updated, or does not answer.
    </Banner>
  )
}
