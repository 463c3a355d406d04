/** Interface of traces: a span for each request and each call. */
import type { IncomingHttpHeaders } from 'node:http'

export interface Tracing {
  /** Begins the span of a request; calls that the request causes from now on are its children. */
  startRequest(method: string, headers: IncomingHttpHeaders): RequestSpan
  /** Begins the span of a call to a service; undefined outside of requests, such as in refreshes. */
  startCall: StartCall
  /** Sends what has not been sent, within seconds. */
  close(): Promise<void>
}

export type StartCall = (service: string, method: string) => CallSpan | undefined

export interface RequestSpan {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  end(request: AnsweredRequest): void
}

interface AnsweredRequest {
  /** The template of the path, as in `/applications/{application}`; undefined when there is none. */
  readonly route: string | undefined
  readonly operation: string | undefined
  readonly status: number
  readonly scheme: 'http' | 'https'
  readonly requestId: string
  /** Code of the error that was answered. */
  readonly errorCode: string | undefined
}

export interface CallSpan {
  /** What the service gets to know about the trace. */
  readonly headers: Readonly<Record<string, string>>
  /** @param status Undefined when no answer came. */
  end(status: number | undefined): void
}
