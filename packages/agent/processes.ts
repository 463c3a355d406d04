/** Processes of this machine: identity, group, memory, and the mark of their agent. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { uptime } from 'node:os'

export interface ProcessEntry {
  readonly pid: number
  readonly group: number
  /** 0 where the system does not tell. */
  readonly session: number
  /** When it started, in a form that no later process with the same id has; also unique across boots. */
  readonly start: string
  /** It has ended, and its parent did not fetch its exit code yet. */
  readonly isZombie: boolean
}

export interface ProcessTable {
  list(): ProcessEntry[]
  /** A list that is not older than this. */
  recent(maxAgeMs: number): ProcessEntry[]
  find(pid: number): ProcessEntry | undefined
  /** TCP ports on which one of the processes listens, ascending; none where the system does not tell. @param maxAgeMs as for `recent` */
  listeningPorts(pids: readonly number[], maxAgeMs: number): number[]
  /** Ids of the users who listen on a TCP port of the loopback address; none where the system does not tell. @param maxAgeMs as for `recent` */
  usersOnPort(port: number, maxAgeMs: number): number[]
  /** Value of `markName` in the environment that the process was started with; undefined also where it cannot be read. */
  markOf(entry: ProcessEntry): string | undefined
  /** Id of the user who runs the process; undefined when it has ended. */
  userOf(pid: number): number | undefined
}

/** Environment variable that every process of an instance inherits; `Marks` makes its value. */
export const markName = 'FAIRLEAD_PROCESS'

/** Ticks of `/proc/PID/stat` in a second, the same on every architecture. */
const ticksPerSecond = 100
/** A process that is older and bears no mark will not get one: marks come with the start of a program. */
const settledSeconds = 10

export function openProcessTable(): ProcessTable {
  const source = process.platform === 'linux' ? openLinuxSource() : openPortableSource()
  let latest: ProcessEntry[] = []
  let listedMs = Number.NEGATIVE_INFINITY
  const list = () => {
    latest = source.list()
    listedMs = performance.now()
    return latest
  }
  const recent = (maxAgeMs: number) => (performance.now() - listedMs <= maxAgeMs ? latest : list())
  return { ...source, list, recent, ...openPortReader() }
}

type PortReader = Pick<ProcessTable, 'listeningPorts' | 'usersOnPort'>
type ProcessSource = Omit<ProcessTable, 'recent' | keyof PortReader>

function openLinuxSource(): ProcessSource {
  const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8)
  const marks = new WeakMap<ProcessEntry, { readonly mark: string | undefined }>()
  let known = new Map<number, ProcessEntry>()

  /** Entries that have not changed are the same objects, so that little is created each time. */
  function find(pid: number): ProcessEntry | undefined {
    try {
      const entry = parseStat(pid, readFileSync(`/proc/${pid}/stat`, 'utf8'), bootId)
      const former = known.get(pid)
      return former !== undefined && isSame(former, entry) ? former : entry
    } catch (error) {
      return passOver(error)
    }
  }

  function list(): ProcessEntry[] {
    const entries: ProcessEntry[] = []
    for (const name of readdirSync('/proc')) {
      const entry = /^\d/.test(name) ? find(Number(name)) : undefined
      if (entry !== undefined) entries.push(entry)
    }
    known = new Map(entries.map((entry) => [entry.pid, entry]))
    return entries
  }

  function markOf(entry: ProcessEntry): string | undefined {
    const cached = marks.get(entry)
    if (cached !== undefined) return cached.mark
    const mark = readMark(entry.pid)
    const ageSeconds = uptime() - Number(entry.start.split('-')[1]) / ticksPerSecond
    if (mark !== undefined || ageSeconds > settledSeconds) marks.set(entry, { mark })
    return mark
  }

  return { list, find, markOf, userOf }
}

/** The real one, which stays while a program runs with rights of another. @see proc_pid_status(5) */
function userOf(pid: number): number | undefined {
  try {
    const user = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return user === undefined ? undefined : Number(user)
  } catch (error) {
    return passOver(error)
  }
}

function isSame(a: ProcessEntry, b: ProcessEntry): boolean {
  return (
    a.start === b.start &&
    a.group === b.group &&
    a.session === b.session &&
    a.isZombie === b.isZombie
  )
}

/** The boot in which a process started; empty where the system does not tell. */
export function bootOf(start: string): string {
  return /^([0-9a-f]{8})-\d+$/.exec(start)?.[1] ?? ''
}

/** The name of the program, in parentheses, may contain anything. @see proc_pid_stat(5) */
function parseStat(pid: number, stat: string, bootId: string): ProcessEntry {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 20)
  const [state = '', , group, session] = fields
  return {
    pid,
    group: Number(group),
    session: Number(session),
    start: `${bootId}-${fields[19]}`,
    isZombie: state === 'Z' || state === 'X',
  }
}

function readMark(pid: number): string | undefined {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
    const mark = environment.split('\0').find((variable) => variable.startsWith(`${markName}=`))
    return mark?.slice(markName.length + 1)
  } catch (error) {
    return passOver(error)
  }
}

/** The process has ended, or belongs to another user. Any other fault, such as too many open files, must not look like that. */
function passOver(error: unknown): undefined {
  const { code = '' } = error as NodeJS.ErrnoException
  if (!['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(code)) throw error
  return undefined
}

/** Systems without `/proc`: `ps` tells everything but the environment. */
function openPortableSource(): ProcessSource {
  const ps = (selection: readonly string[]): ProcessEntry[] => {
    const { stdout } = spawnSync('ps', [...selection, '-o', 'pid=,pgid=,state=,lstart='], {
      encoding: 'utf8',
    })
    return stdout.split('\n').flatMap((line) => {
      const [pid, group, state = '', ...start] = line.trim().split(/\s+/)
      if (group === undefined) return []
      return [
        {
          pid: Number(pid),
          group: Number(group),
          session: 0,
          start: start.join(' '),
          isZombie: state.startsWith('Z'),
        },
      ]
    })
  }
  return {
    list: () => ps(['-ax']),
    find: (pid) => ps(['-p', String(pid)])[0],
    markOf: () => undefined,
    userOf: () => undefined,
  }
}

/** Bytes of memory that belong to a process alone or are shared without a file behind them; 0 when it has ended. */
export function memoryOf(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const kilobytes = [...status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB/gm)].map(([, count]) =>
      Number(count),
    )
    return kilobytes.reduce((sum, count) => sum + count, 0) * 1024
  } catch {
    if (process.platform === 'linux') return 0
    return (
      Number(spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).stdout) * 1024
    )
  }
}

interface ListeningSocket {
  readonly inode: string
  readonly address: string
  readonly port: number
  readonly user: number
}

/** The system tells of all connections at once, so one reading serves the searches for many instances. */
export function openPortReader(read: (file: string) => readonly string[] = readLines): PortReader {
  let listeners: readonly ListeningSocket[] = []
  let readMs = Number.NEGATIVE_INFINITY
  const recent = (maxAgeMs: number) => {
    if (performance.now() - readMs > maxAgeMs) {
      listeners = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap(read).flatMap(parseListener)
      readMs = performance.now()
    }
    return listeners
  }
  return {
    listeningPorts(pids, maxAgeMs) {
      const inodes = new Set(pids.flatMap(socketsOf))
      const found = recent(maxAgeMs).filter(({ inode }) => inodes.has(inode))
      return [...new Set(found.map(({ port }) => port))].sort((a, b) => a - b)
    },
    usersOnPort(port, maxAgeMs) {
      const found = recent(maxAgeMs).filter(
        (listener) => listener.port === port && loopback.test(listener.address),
      )
      return found.map(({ user }) => user)
    },
  }
}

/** 127.0.0.1, as IPv6 writes it too, and the addresses that mean all of them; the last byte comes first on most machines. */
const loopback = /^(?:0{24}|0{16}(?:FFFF0000|0000FFFF))?(?:0{8}|0100007F|7F000001)$/

/** None, unless the line is about a socket that listens. @see proc_net_tcp(5) */
function parseListener(line: string): ListeningSocket[] {
  const [, local = '', , state, , , , user, , inode = ''] = line.trim().split(/\s+/, 10)
  const [address = '', port = ''] = local.split(':')
  return state === '0A'
    ? [{ inode, address, port: Number.parseInt(port, 16), user: Number(user) }]
    : []
}

function socketsOf(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  return attempt(() => readdirSync(folder)).flatMap((name) =>
    // One that was closed meanwhile hides no other.
    attempt(() => [/^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${name}`))?.[1] ?? '']),
  )
}

function readLines(file: string): string[] {
  return attempt(() => readFileSync(file, 'utf8').split('\n'))
}

/** Nothing where the process has ended, belongs to another user, or the system has no such file. */
function attempt(read: () => string[]): string[] {
  try {
    return read()
  } catch {
    return []
  }
}

/** Milliseconds since a process of this boot started, however the clock was set since; undefined where the system does not tell. */
export function ageMsOf(start: string): number | undefined {
  const ticks = bootOf(start) === '' ? undefined : Number(start.split('-')[1])
  return ticks === undefined ? undefined : Math.max(0, (uptime() - ticks / ticksPerSecond) * 1000)
}

/** Sends a signal. Processes that have ended meanwhile, or now run as another user, are passed over. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ESRCH' && code !== 'EPERM') throw error
  }
}
