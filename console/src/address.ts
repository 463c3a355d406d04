/** Addresses of screens and of the API, below whatever path a proxy or the context path puts before them. */

/** The path of the console, such as `/gate/console/`. */
export const basePath = new URL(document.baseURI).pathname
/** The path of the API, without a slash at its end: empty, or such as `/gate`. */
export const apiPath = basePath.replace(/\/console\/$/, '')

/** The application in the address of the page. */
export function applicationHere(): string | undefined {
  const [section, name] = location.pathname.slice(basePath.length).split('/')
  return section === 'applications' && name ? decodePart(name) : undefined
}

type Query = Readonly<Record<string, string | undefined>>

/** @param parts Segments of the path, encoded here. */
export function address(parts: readonly string[], query: Query = {}): string {
  return basePath + parts.map(encodeURIComponent).join('/') + formatQuery(query)
}

/** `?a=b`, or empty; undefined and empty values are left out. */
export function formatQuery(query: Query): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '')
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}

/** Undefined for what is not encoded properly. */
export function decodePart(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

const maxPathPart = 200

/** The gateway refuses other names in paths, also encoded ones. @see `PATH_REFUSED` */
function isPathPart(name: string): boolean {
  return name.length <= maxPathPart && !/[/\\%;]|^\.*$/.test(name)
}

type PlaceSection = 'load-balancers' | 'security-groups'

interface Place {
  readonly provider: string
  readonly account: string
  readonly region: string
  readonly name: string
}

/** Below its application, unless an address cannot have its name. */
function placeAddress(section: PlaceSection, application: string | undefined, place: Place): string {
  const { provider, account, region, name } = place
  return application !== undefined && [account, region, name].every(isPathPart)
    ? address(['applications', application, section, account, region, name], { provider })
    : address(['infrastructure', section], { provider, account, region, name })
}

export const to = {
  home: (query: Query = {}) => basePath + formatQuery(query),
  applications: () => address(['applications']),
  application: (application: string) => address(['applications', application]),
  serverGroup: (application: string, place: { account: string; region: string; name: string }, query?: Query) =>
    address(['applications', application, 'server-groups', place.account, place.region, place.name], query),
  instance: (application: string, place: { account: string; region: string; id: string }, query?: Query) =>
    address(['applications', application, 'instances', place.account, place.region, place.id], query),
  cluster: (application: string, place: { account: string; cluster: string }) =>
    address(['applications', application, 'clusters', place.account, place.cluster]),
  /** An object of a provider that has manifests; `_` stands for no namespace. */
  manifest: (application: string, place: { account: string; location: string; name: string }, query?: Query) =>
    address(['applications', application, 'manifests', place.account, place.location || '_', place.name], query),
  resources: (application: string, query?: Query) => address(['applications', application, 'resources'], query),
  pipelines: (application: string, query?: Query) => address(['applications', application, 'pipelines'], query),
  /** The page of one pipeline. */
  pipeline: (application: string, id: string, query?: Query) => address(['applications', application, 'pipelines', id], query),
  /** Runs of an application, or of all. */
  runs: (application?: string, query?: Query) =>
    address(application === undefined ? ['runs'] : ['applications', application, 'runs'], query),
  environments: (query?: Query) => address(['environments'], query),
  startPipeline: (application: string, id: string, query?: Query) =>
    address(['applications', application, 'pipelines', id, 'start'], query),
  newPipeline: (application: string, query?: Query) => address(['applications', application, 'pipelines', 'new'], query),
  editPipeline: (application: string, id: string, query?: Query) =>
    address(['applications', application, 'pipelines', id, 'edit'], query),
  execution: (id: string, query?: Query) => address(['executions', id], query),
  tasks: (application: string) => address(['applications', application, 'tasks']),
  task: (id: string) => address(['tasks', id]),
  /** Of one application, or of all that the reader may see. */
  places: (section: PlaceSection, application?: string) =>
    address(application === undefined ? ['infrastructure', section] : ['applications', application, section]),
  place: placeAddress,
  jobs: (application: string) => address(['applications', application, 'jobs']),
  job: (application: string, place: { account: string; region: string; id: string }, query?: Query) =>
    address(['applications', application, 'jobs', place.account, place.region, place.id], query),
  settings: (application: string, query?: Query) => address(['applications', application, 'settings'], query),
  search: (q: string) => address(['search'], { q }),
  compare: (query?: Query) => address(['executions', 'compare'], query),
  projects: () => address(['projects']),
  /** By its name, unless an address cannot have that; without an id it is found in the list. */
  project: ({ name, id }: { readonly name: string; readonly id?: string | undefined }) => {
    const part = isPathPart(name) ? name : id
    return address(part === undefined ? ['projects'] : ['projects', part])
  },
  infrastructure: (section: string, query?: Query) => address(['infrastructure', section], query),
  access: (section?: string, query?: Query) => address(section === undefined ? ['access'] : ['access', section], query),
  audit: (query?: Query) => address(['audit'], query),
  signedIn: () => address(['signed-in']),
  /** The login, which leads back to `path`. */
  login: (path: string) => `${apiPath}/auth/redirect?to=${encodeURIComponent(path)}`,
  logout: () => `${apiPath}/auth/logout`,
  api: () => `${apiPath}/swagger-ui/index.html`,
} as const
