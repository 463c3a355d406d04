/** What a description of a load balancer says about its hosts, and how that is stored. */
import { readHostPlace } from '@fairlead/base/names/host-name.ts'
import { z } from 'zod'
import type { LocalSite } from '../desired.ts'
import { flagField, numeric, optionalField, optionalTextPart } from '../operations/parts.ts'

const maxHosts = 500
const maxPageLength = 64 * 1024

const place = z.string().transform((text, context) => {
  const read = readHostPlace(text.trim())
  if (typeof read !== 'string') return read
  context.addIssue(`"${text}" ${read}`)
  return z.NEVER
})

const Rule = z
  .preprocess(
    (value) => (typeof value === 'string' ? { host: value } : value),
    z.object({ host: place, path: optionalTextPart, strip: flagField }),
  )
  .transform(({ host: { host, path }, strip, path: given }) => ({
    host,
    path: given === undefined ? path : given.replace(/(?<=.)\/$/, ''),
    strip,
  }))

const seconds = optionalField(
  numeric(
    z
      .number()
      .min(0.1)
      .max(7 * 86_400),
  ),
)
const bytes = (most: number) => optionalField(numeric(z.number().int().min(1).max(most)))

export const siteFields = {
  /** `shop.example`, `shop.example/api`, `*.shop.example`, or an object with `host`, `path` and `strip`. */
  hosts: optionalField(z.array(Rule).max(maxHosts)),
  /** From a host to another one, or to an address. */
  redirects: optionalField(z.record(z.string(), z.string().trim().min(1))),
  limits: optionalField(
    z.object({
      bodyBytes: bytes(1024 ** 4),
      headerBytes: bytes(64 * 1024),
      readSeconds: seconds,
      idleSeconds: seconds,
      websocketSeconds: seconds,
      drainSeconds: optionalField(numeric(z.number().min(0).max(86_400))),
    }),
  ),
  compress: optionalField(z.enum(['off', 'gzip', 'brotli'])),
  hsts: optionalField(
    z.object({
      maxAgeSeconds: numeric(z.number().int().min(0)),
      subdomains: flagField,
    }),
  ),
  errorPage: optionalField(z.string().max(maxPageLength)),
}

type SiteFields = { [Name in keyof typeof siteFields]?: z.output<(typeof siteFields)[Name]> }

type Limits = Partial<NonNullable<SiteFields['limits']>>

/** Undefined: it has no host, and so nothing on the front. @throws {Error} for people */
export function toSite(fields: SiteFields): LocalSite | undefined {
  const { hosts = [], redirects = {}, limits = {}, compress, hsts, errorPage } = fields
  const led = Object.entries(redirects).map(([from, to]) => ({
    ...readFrom(from),
    to: toTarget(to),
  }))
  if (hosts.length + led.length === 0) return undefined
  const {
    bodyBytes,
    headerBytes,
    readSeconds,
    idleSeconds,
    websocketSeconds,
    drainSeconds,
  }: Limits = limits
  const ms = (value: number | undefined) => (value === undefined ? undefined : value * 1000)
  const given = {
    bodyBytes,
    headerBytes,
    readMs: ms(readSeconds),
    idleMs: ms(idleSeconds),
    websocketMs: ms(websocketSeconds),
    drainMs: ms(drainSeconds),
  }
  return {
    rules: hosts,
    redirects: led,
    limits: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    ...(compress !== undefined && compress !== 'off' && { compress }),
    ...(hsts !== undefined && { hsts }),
    ...(errorPage !== undefined && { errorPage }),
  }
}

function readFrom(text: string): { host: string; path: string } {
  const read = readHostPlace(text)
  if (typeof read === 'string') throw new Error(`redirects: "${text}" ${read}.`)
  return read
}

/** A host alone keeps the scheme of the request. */
function toTarget(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text.replace(/\/$/, '')
  const read = readHostPlace(text)
  if (typeof read === 'string') throw new Error(`redirects: "${text}" ${read}.`)
  return `//${read.host}${read.path === '/' ? '' : read.path}`
}

/** Hosts that a load balancer needs, each once. */
export function hostsOf(site: LocalSite | undefined): string[] {
  if (site === undefined) return []
  return [...new Set([...site.rules, ...site.redirects].map(({ host }) => host))]
}
