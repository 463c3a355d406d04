/** The address of a proxy that the configuration trusts, for examinations. */
import { isIP } from 'node:net'
import type { OriginSettings } from '../http/origin.ts'

/** Those that proxies usually have. */
const usual = ['10.0.0.1', '127.0.0.1', '192.168.0.1', '172.16.0.1', '169.254.0.1', '100.64.0.1', '::1', 'fd00::1', 'fe80::1']
const group = /\((?:\?:)?([^()|]*)(?:\|[^()]*)?\)[?*+]?/g
const open = /(?:\\d|\[[^[\]]*\])(?:\{[\d,]+\}|[+*?])?|(?<!\\)\.[+*]/g

/** @returns one that the pattern of trusted proxies matches; the first usual one where none is found, as a stranger */
export function trustedProxyOf({ trustedProxies }: Pick<OriginSettings, 'trustedProxies'>): string {
  let text = trustedProxies.source.replace(/^\^|\$$/g, '')
  // The first alternative of each group, the inner ones first.
  for (let shorter = text.replace(group, '$1'); shorter !== text; shorter = text.replace(group, '$1')) text = shorter
  const written = text.split('|').flatMap((part) => {
    const address = part.replace(open, '1').replaceAll('\\', '')
    return [address, `${address}.1`, `${address}.1.1`, `${address}.1.1.1`]
  })
  return [...usual, ...written].find((each) => isIP(each) !== 0 && trustedProxies.test(each)) ?? '10.0.0.1'
}
