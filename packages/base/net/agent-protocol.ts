/** The agent's interface: schemas of the desired state and of the observed state. */

import type { ExecConnection, ExecRequest } from './exec-frames.ts'

/** Raised with every change that an older agent or an older Fairlead would misread. */
export const agentProtocol = 7

/** Everything the agent shall run. A document replaces the one before it as a whole. */
export interface DesiredState {
  /** Grows with every change; the agent ignores a document that is older than the one it has. */
  readonly revision: number
  readonly instances: readonly DesiredInstance[]
  readonly loadBalancers: readonly DesiredLoadBalancer[]
  /** Undefined: there is no front. */
  readonly fronts?: DesiredFronts
}

/** A process that keeps running, or a command that runs once. An instance that is no longer listed is stopped and removed. */
export interface DesiredInstance {
  /** Never used again for another instance; letters, digits and hyphens, so it can name a folder. */
  readonly id: string
  /** A greater number restarts the process in place, with the same id. */
  readonly generation: number
  /** `once`: a job or a command; its end is reported and it is not started again. */
  readonly restart: 'always' | 'once'
  readonly program: Program
  /** Undefined: ready as soon as it runs. */
  readonly readiness: Probe | undefined
  /** Milliseconds between SIGTERM and SIGKILL when it is stopped. */
  readonly stopGraceMs: number
  /** Milliseconds after which a command is ended; undefined: none. */
  readonly timeLimitMs: number | undefined
}

export interface Program {
  /** Program and arguments; relative programs are looked up in the working directory, then in `PATH`. */
  readonly command: readonly string[]
  /** Folder whose content the working directory starts with, such as an unpacked image; undefined: an empty one. */
  readonly content: string | undefined
  /** Complete environment: nothing of the agent's own reaches the process but `PATH`, `HOME` and `LANG` where absent here. */
  readonly environment: Readonly<Record<string, string>>
  /** Undefined: the agent's own user. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined
  readonly limits: ProgramLimits
  readonly volumes?: ProgramVolumes
  /** Undefined: the command is the program. Otherwise it is podman or docker, which runs a container of this name in the foreground. */
  readonly container?: ProgramContainer
}

interface ProgramContainer {
  readonly name: string
  /** For podman or docker, beside `environment`, whose names it passes on to the container. */
  readonly runtimeEnvironment: Readonly<Record<string, string>>
}

/** Directories that stay when the instance goes; created where they are missing. */
export interface ProgramVolumes {
  /** Holds them; of the user of the program. */
  readonly root: string
  readonly folders: readonly string[]
}

/** Undefined: no limit. */
export interface ProgramLimits {
  readonly memoryBytes: number | undefined
  readonly processes: number | undefined
  readonly openFiles: number | undefined
  /** Bytes of the working directory. */
  readonly diskBytes: number | undefined
  /** Bytes of console output that are kept. */
  readonly consoleBytes: number
}

export type ProbeTarget = {
  readonly host: string
  readonly port: number
  readonly timeoutMs: number
} & (
  | { readonly kind: 'tcp' }
  | {
      readonly kind: 'http'
      readonly path: string
      /** Ready while the answer has it; undefined: while its status is below 400. */
      readonly status?: number
      /** Header `Host`; undefined: the address. */
      readonly hostHeader?: string
    }
)
export type Probe = ProbeTarget & { readonly intervalMs: number }

export interface DesiredLoadBalancer {
  /** Unique, for example `dev:east:shop-front`. */
  readonly id: string
  readonly listeners: readonly DesiredListener[]
  readonly healthCheck: HealthCheck
  readonly members: readonly DesiredMember[]
}

export interface DesiredListener {
  /** `tcp` passes bytes on; the others speak HTTP/1.1, upgrades included. */
  readonly protocol: 'http' | 'https' | 'tcp'
  readonly host: string
  readonly port: number
  /** PEM files; set where the protocol is `https`. They are read again when they change. */
  readonly certificate: { readonly certificateFile: string; readonly keyFile: string } | undefined
  /** Networks in CIDR notation that may connect; undefined: all. */
  readonly allowedSources: readonly string[] | undefined
}

/** Shared listeners that choose a load balancer by host and path, and the certificates of all of them. */
export interface DesiredFronts {
  readonly fronts: readonly DesiredFront[]
  readonly certificates: readonly DesiredCertificate[]
  readonly challenges: DesiredChallenges
}

export interface DesiredFront {
  readonly id: string
  readonly address: string
  readonly httpPort: number
  readonly httpsPort: number
  readonly sites: readonly FrontSite[]
}

/** What a load balancer has on a front. Hosts are lower-case A-labels, `*.` may be the first one. */
export interface FrontSite {
  /** Application; requests to hosts of another one on the same TLS connection are misdirected. */
  readonly owner: string
  /** Id of a load balancer. */
  readonly loadBalancer: string
  readonly rules: readonly FrontRule[]
  readonly redirects: readonly FrontRedirect[]
  readonly limits: FrontLimits
  /** Networks in CIDR notation that may ask for it; undefined: all. */
  readonly allowedSources?: readonly string[]
  /** Text is compressed where the client takes it; `brotli` means both. */
  readonly compress?: 'gzip' | 'brotli'
  readonly hsts?: { readonly maxAgeSeconds: number; readonly subdomains: boolean } | undefined
  /** HTML in place of the text of a 503 that the front gives itself. */
  readonly errorPage?: string
}

export interface FrontRule {
  readonly host: string
  /** `/`, or `/a/b` without a slash at its end. */
  readonly path: string
  /** Instances see the path without this one. */
  readonly strip: boolean
}

interface FrontRedirect {
  readonly host: string
  readonly path: string
  /** An address, or `//host` with a path on this front. What follows the path is appended. */
  readonly to: string
}

export interface FrontLimits {
  readonly bodyBytes: number
  readonly headerBytes: number
  /** For a client that neither sends the rest of its request nor reads its response. */
  readonly readMs: number
  /** For an instance that sends nothing of its response. */
  readonly idleMs: number
  /** For a WebSocket on which nothing moves. */
  readonly websocketMs: number
  /** For connections of an instance that is out of service; undefined: as load balancers have it. */
  readonly drainMs?: number
}

/** PEM files, chosen by the name that the client asks for. */
export interface DesiredCertificate {
  /** Lower-case A-labels; `*.` may be the first one. */
  readonly hosts: readonly string[]
  readonly certificateFile: string
  readonly keyFile: string
  /** The files may change; otherwise, another content has other names. */
  readonly isWatched?: true
}

/** Challenges of an ACME authority that are open. */
export interface DesiredChallenges {
  /** HTTP-01: the content below `/.well-known/acme-challenge/`, by token. */
  readonly http: Readonly<Record<string, string>>
  /** TLS-ALPN-01: certificate and key in PEM, by host. */
  readonly tls: Readonly<Record<string, { readonly certificate: string; readonly key: string }>>
}

export interface HealthCheck {
  readonly kind: 'http' | 'tcp'
  /** HTTP checks ask for this path; an answer with a status below 400 is healthy. */
  readonly path: string
  readonly intervalMs: number
  readonly timeoutMs: number
  /** Consecutive results that change the state. A member that was never healthy needs one success only. */
  readonly healthyThreshold: number
  readonly unhealthyThreshold: number
}

export interface DesiredMember {
  readonly instanceId: string
  readonly host: string
  readonly port: number
  /** False: no new requests; running ones end. */
  readonly inService: boolean
  /** The share of its server group; undefined: it takes a part of the requests that belong to no share. */
  readonly share?: TrafficShare
}

interface TrafficShare {
  /** Members with the same one share what it gets. */
  readonly group: string
  /** Percentage of the requests to the load balancer, from 0 to 100. */
  readonly percent: number
}

/** Answer of `GET /observed`; `GET /observed-changes` tells the same in lines, see observed-lines.ts. */
export interface ObservedState {
  readonly protocol: number
  /** Version of the package that the agent was started from. */
  readonly version: string
  readonly pid: number
  /** Grows whenever anything below changes. */
  readonly sequence: number
  /** Revision of the desired state that the agent works on; 0 before the first. */
  readonly revision: number
  /** Process that becomes the next agent when this one dies; undefined while there is no listener. */
  readonly standby: number | undefined
  readonly instances: readonly ObservedInstance[]
  readonly loadBalancers: readonly ObservedLoadBalancer[]
}

export type InstancePhase =
  /** The process runs and was not ready yet. */
  | 'starting'
  | 'ready'
  /** It was ready and its probe fails. */
  | 'unready'
  /** It ended and is started again after a pause. */
  | 'waiting'
  /** SIGTERM was sent. */
  | 'stopping'
  /** A command that has ended. */
  | 'ended'
  /** It cannot be started, for a reason that repeating does not change. */
  | 'failed'

export interface ObservedInstance {
  readonly id: string
  readonly generation: number
  readonly phase: InstancePhase
  readonly pid: number | undefined
  /** Start of the process that runs, or ran last, in milliseconds since the epoch. */
  readonly startedAt: number | undefined
  readonly endedAt: number | undefined
  readonly exitCode: number | undefined
  readonly signal: string | undefined
  /** How often it was started again by itself. */
  readonly restarts: number
  /** Starts in a row that failed: the program could not be started, or ended within a minute. */
  readonly failedStarts: number
  /** Why it is in this phase, for people; undefined where the phase says everything. */
  readonly reason: string | undefined
  /** How its limits are enforced: by control groups, by `prlimit`, or by the agent's own measurements. */
  readonly enforcement: Readonly<
    Record<'memory' | 'processes' | 'openFiles' | 'disk', 'cgroup' | 'prlimit' | 'watched' | 'none'>
  >
  /** The latest ones, oldest first. */
  readonly events: readonly InstanceEvent[]
}

export interface InstanceEvent {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly text: string
}

export interface ObservedLoadBalancer {
  readonly id: string
  readonly listeners: readonly ObservedListener[]
  readonly members: readonly ObservedMember[]
}

export interface ObservedListener {
  readonly port: number
  readonly open: boolean
  /** Why it is not open. */
  readonly reason: string | undefined
}

export interface ObservedMember {
  readonly instanceId: string
  /** `starting`: registered, and never healthy since. */
  readonly health: 'starting' | 'up' | 'down'
  readonly inService: boolean
  /** Requests or connections that run. */
  readonly inFlight: number
  readonly reason: string | undefined
}

/** The agent as its client: it gets the desired state, and is asked for what it observes. */
export interface Agent {
  /** Replaces the desired state. It is sent now, and again to every agent that takes the place of this one. */
  setDesired(state: DesiredState): void
  /** The latest state that an agent reported; undefined before the first. */
  observed(): ObservedState | undefined
  /** Why the agent cannot be reached at the moment, for people. */
  problem(): string | undefined
  /** Calls the listener after each change of `observed` or `problem`. */
  onChange(listener: () => void): void
  /** None where no agent runs. @throws {Error} when it cannot be reached */
  samples(): Promise<TrafficSamples>
  /** The newest bytes of what an instance wrote; undefined when there is no such console, or no agent. */
  console(instanceId: string, tailBytes: number): Promise<string | undefined>
  /** A part of it, in at most `maxBytes`; undefined as for `console`. */
  consolePart(
    instanceId: string,
    wish: ConsoleWish,
    maxBytes: number,
  ): Promise<ConsolePart | undefined>
  /** The same for a reader that must not miss any of it: undefined only when the agent has no such console. @throws {Error} */
  consolePartFrom(
    instanceId: string,
    offset: number,
    maxBytes: number,
  ): Promise<ConsolePart | undefined>
  /**
   * A part of the output, with its times; where it ends by `endOffset`, the wish is fulfilled. Undefined: there is no such.
   *
   * @throws {Error} when the agent cannot be reached
   */
  timedPart(instanceId: string, wish: OutputWish, maxBytes: number): Promise<TimedPart | undefined>
  /** What is written from an offset on, until the instance is removed or the agent ends. @throws {Error} when it breaks off */
  followOutput(instanceId: string, offset: number, signal: AbortSignal): AsyncIterable<TimedPart>
  /** Runs a program beside that of an instance, as the same user and with the same variables. @throws {ExecError} */
  exec(instanceId: string, request: ExecRequest): Promise<ExecConnection>
  /** Leaves the agent running. */
  close(): Promise<void>
}

/** What a reader wants of a console: its last lines, or what came after an offset. */
export type ConsoleWish = { readonly tail: number } | { readonly offset: number }

/** A part of a console. Offsets are bytes since the instance was first started, whatever was dropped since. */
export interface ConsolePart {
  readonly output: string
  /** Where the first byte of `output` stands. */
  readonly offset: number
  /** Where to go on reading. */
  readonly nextOffset: number
  /** Where all output ends; larger than `nextOffset` when there is more. */
  readonly endOffset: number
  /** Bytes after the wanted offset that are no longer there. */
  readonly lostBytes: number
  /** Only for the last lines: the number of the first, counted from the oldest output that is kept. */
  readonly line?: number
}

/** The output from this offset on was written at this time, to the next mark. */
export interface OutputTime {
  readonly offset: number
  /** Milliseconds since the epoch. */
  readonly atMs: number
}

/** What a reader of lines wants: all that is kept, the last lines, what follows an offset or a time, or what the run before the latest wrote. */
export type OutputWish =
  | ConsoleWish
  | { readonly sinceMs: number }
  | { readonly previous: true }
  | { readonly all: true }

export interface TimedPart extends ConsolePart {
  readonly times: readonly OutputTime[]
}

/** Counted since they were last taken. */
export interface TrafficCounts {
  readonly requests: number
  /** Answers with a status of 500 or more, and requests that got none. */
  readonly errors: number
  /** The sum over all requests. */
  readonly latencyUs: number
}

export interface TrafficSample extends TrafficCounts {
  /** End of its period, in milliseconds since the epoch. */
  readonly atMs: number
  /** Undefined where the system does not tell, and while no process runs. */
  readonly memoryBytes: number | undefined
  /** Its period goes on; it is the last one. */
  readonly isOpen?: true
}

/** Samples by the id of an instance, oldest first. */
export type TrafficSamples = Readonly<Record<string, readonly TrafficSample[]>>

export const samplePeriodMs = 10_000
