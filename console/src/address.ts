/** Addresses of screens and of the API, below whatever path a proxy or the context path puts before them; and what a screen is given. */
import { type ComponentType, createContext } from 'preact'
import { useLocation } from 'preact-iso/router'

/** The path of the console, such as `/gate/console/`. */
export const basePath = new URL(document.baseURI).pathname
/** The path of the API, without a slash at its end: empty, or such as `/gate`. */
export const apiPath = basePath.replace(/\/console\/$/, '')

/** The application in the address of the page. */
export function applicationHere(): string | undefined {
  const [section, name] = location.pathname.slice(basePath.length).split('/')
  return section === 'applications' && name ? decodeURIComponent(name) : undefined
}

export type Query = Readonly<Record<string, string | undefined>>

/** @param parts Segments of the path, encoded here. */
export function address(parts: readonly string[], query: Query = {}): string {
  return basePath + parts.map(encodeURIComponent).join('/') + formatQuery(query)
}

/** `?a=b`, or empty; undefined and empty values are left out. */
export function formatQuery(query: Query): string {
  const given = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
  )
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

/** The gateway refuses other names in paths, also encoded ones. @see `PATH_REFUSED` */
function isPathPart(name: string) {
  return name.length <= 200 && !/[/\\%;]|^\.*$/.test(name)
}

/** Leads to an address; with `true`, in the place of the present one. */
export function useNavigate(): (address: string, replaces?: boolean) => void {
  return useLocation().route
}

/** Replaces values of the query in the address of the page: filters, tabs and choices of a screen. */
export function useQueryChange(): (changes: Query) => void {
  const navigate = useNavigate()
  return (changes) => {
    const query = Object.fromEntries(new URLSearchParams(location.search))
    navigate(location.pathname + formatQuery({ ...query, ...changes }), true)
  }
}

/** A screen of one application. */
function own(application: string, parts: readonly string[], query?: Query) {
  return address(['applications', application, ...parts], query)
}

/** The same, of an application yet to be named. */
const page =
  (...parts: readonly string[]) =>
  (application: string, query?: Query) =>
    own(application, parts, query)

type PlaceSection = 'load-balancers' | 'security-groups'

interface Place {
  readonly account: string
  readonly region: string
  readonly name: string
}

type Identified = Pick<Place, 'account' | 'region'> & { readonly id: string }

export const to = {
  home: (query: Query = {}) => basePath + formatQuery(query),
  applications: () => address(['applications']),
  application: page(),
  serverGroup: (application: string, { account, region, name }: Place, query?: Query) =>
    own(application, ['server-groups', account, region, name], query),
  instance: (application: string, { account, region, id }: Identified, query?: Query) =>
    own(application, ['instances', account, region, id], query),
  cluster: (application: string, place: { account: string; cluster: string }) =>
    own(application, ['clusters', place.account, place.cluster]),
  /** An object of a provider that has manifests; `_` stands for no namespace. */
  manifest: (
    application: string,
    place: { account: string; location: string; name: string },
    query?: Query,
  ) => own(application, ['manifests', place.account, place.location || '_', place.name], query),
  resources: page('resources'),
  pipelines: page('pipelines'),
  pipeline: (application: string, id: string, query?: Query) =>
    own(application, ['pipelines', id], query),
  startPipeline: (application: string, id: string, query?: Query) =>
    own(application, ['pipelines', id, 'start'], query),
  newPipeline: page('pipelines', 'new'),
  editPipeline: (application: string, id: string, query?: Query) =>
    own(application, ['pipelines', id, 'edit'], query),
  runs: (application?: string, query?: Query) =>
    application === undefined ? address(['runs'], query) : own(application, ['runs'], query),
  environments: (query?: Query) => address(['environments'], query),
  execution: (id: string, query?: Query) => address(['executions', id], query),
  tasks: page('tasks'),
  task: (id: string) => address(['tasks', id]),
  /** One application, or all that the reader may see. */
  places: (section: PlaceSection, application?: string) =>
    application === undefined ? address(['infrastructure', section]) : own(application, [section]),
  /** Below its application, unless an address cannot have its name. */
  place(
    section: PlaceSection,
    application: string | undefined,
    place: Place & { readonly provider: string },
  ): string {
    const { provider, account, region, name } = place
    return application !== undefined && [account, region, name].every(isPathPart)
      ? own(application, [section, account, region, name], { provider })
      : address(['infrastructure', section], { provider, account, region, name })
  },
  jobs: page('jobs'),
  job: (application: string, { account, region, id }: Identified, query?: Query) =>
    own(application, ['jobs', account, region, id], query),
  /** By its version or commit; one whose name an address cannot have is looked for among the runs. */
  release: (application: string, version: string) =>
    isPathPart(version)
      ? own(application, ['releases', version])
      : own(application, ['runs'], { q: version }),
  canary: (application: string, id: string) => own(application, ['canaries', id]),
  /** What shows that something happened: an analysis, else a run, else a task. */
  evidence(
    application: string,
    seen: { readonly [of in 'analysis' | 'run' | 'stage' | 'task']?: string | null },
  ): string | undefined {
    const { analysis, run, stage, task } = seen
    if (analysis) return to.canary(application, analysis)
    return run ? to.execution(run, { stage: stage ?? undefined }) : task ? to.task(task) : undefined
  },
  settings: page('settings'),
  search: (q: string) => address(['search'], { q }),
  compare: (query?: Query) => address(['executions', 'compare'], query),
  projects: () => address(['projects']),
  /** By its name, unless an address cannot have that; without an id it is found in the list. */
  project({ name, id }: { readonly name: string; readonly id?: string }): string {
    const part = isPathPart(name) ? name : id
    return address(part === undefined ? ['projects'] : ['projects', part])
  },
  infrastructure: (section: string, query?: Query) => address(['infrastructure', section], query),
  access: (section?: string, query?: Query) =>
    address(section === undefined ? ['access'] : ['access', section], query),
  signedIn: () => address(['signed-in']),
  /** The login, which leads back to `path`. */
  login: (path: string) => `${apiPath}/auth/redirect?to=${encodeURIComponent(path)}`,
  logout: () => `${apiPath}/auth/logout`,
  api: () => `${apiPath}/swagger-ui/index.html`,
} as const

export interface ScreenProps {
  /** Decoded values of the path. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
}

export type LoadScreen = () => Promise<ComponentType<ScreenProps>>

export interface FoundScreen {
  readonly load: LoadScreen
  readonly params: ScreenProps['params']
}

/** Finds a screen by its path, for screens that show another one beside them: the table of screens imports them. */
export const FindScreen = createContext<(path: string) => FoundScreen | undefined>(() => undefined)
