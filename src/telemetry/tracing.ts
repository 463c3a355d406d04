/** Spans of traces: one for each request and each call. */

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
