/** HTTP/2 to clients: a server that speaks HTTP/1.1 as well, and responses with the methods that an exchange uses. */
import type { IncomingMessage, ServerOptions } from 'node:http'
import type { Http2SecureServer, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { TlsOptions } from 'node:tls'
import { defaultBounds } from './bounds.ts'
import { ClientResponse } from './client-response.ts'

/** Answers `request` for both versions. Clients that reset streams at a high rate, or do not read, lose their connection. */
export function createStreamServer(
  options: ServerOptions<typeof IncomingMessage, typeof ClientResponse>,
  tls: TlsOptions,
): Http2SecureServer {
  const http2 = process.getBuiltinModule('node:http2')
  class StreamResponse extends http2.Http2ServerResponse {
    exchange: { onClientClose(): void } | undefined
    port: undefined
    /** Trailers can follow any response. */
    readonly chunkedEncoding = true
    shouldKeepAlive = true

    override writeHead(status: number, ...rest: unknown[]): this {
      const raw = (rest.at(-1) ?? []) as readonly string[]
      this.stream.respond(toStreamHeaders(status, raw), { waitForTrailers: true })
      return this
    }

    writeInformation(status: number, headers: readonly string[]): void {
      if (!this.stream.destroyed && !this.headersSent)
        this.stream.additionalHeaders(toStreamHeaders(status, headers))
    }

    override addTrailers(trailers: unknown): void {
      super.addTrailers(Object.fromEntries(trailers as [string, string][]))
    }

    override destroy(): this {
      const { stream } = this as { stream: ServerHttp2Stream }
      stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR)
      return this
    }
  }
  return http2.createSecureServer({
    ...(options as object),
    ...tls,
    allowHTTP1: true,
    Http1ServerResponse: ClientResponse as never,
    Http2ServerResponse: StreamResponse as never,
    settings: {
      enablePush: false,
      maxConcurrentStreams: defaultBounds.maxStreams,
      maxHeaderListSize: defaultBounds.maxFrontHeaderBytes,
    },
    maxHeaderListPairs: 256,
    maxSessionMemory: 16,
    maxSessionRejectedStreams: 100,
    maxSettings: 16,
  })
}

function toStreamHeaders(status: number, raw: readonly string[]): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = { ':status': status }
  for (let at = 0; at < raw.length; at += 2) {
    const name = (raw[at] as string).toLowerCase()
    if (name === 'connection') continue
    const value = raw[at + 1] as string
    const known = headers[name]
    headers[name] = known === undefined ? value : [known, value].flat().map(String)
  }
  return headers
}
