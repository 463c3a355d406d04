/** For `fairlead doctor`: whether the ACME authority can be used with these settings. */
import { accessSync, constants } from 'node:fs'
import {
  type Check,
  createCheck,
  type Finding,
  type Reporter,
} from '@fairlead/base/findings/finding.ts'
import { AcmeAuthority } from './acme-authority.ts'
import type { AcmeSettings } from './settings.ts'

export function checkAcme(settings: AcmeSettings | undefined): Check[] {
  if (settings === undefined) return []
  return [
    createCheck('Certificates by ACME', async (report) => [
      ...(await checkDirectory(settings, report)),
      ...checkHook(settings, report),
    ]),
  ]
}

async function checkDirectory(settings: AcmeSettings, report: Reporter): Promise<Finding[]> {
  const { directory, binding, profile } = settings
  const tried = `read ${directory}`
  const authority = new AcmeAuthority(settings, {
    loadAccount: () => {
      throw new Error('The check signs nothing.')
    },
    onAccount: () => {},
    now: Date.now,
  })
  try {
    const { meta = {} } = await authority.directory()
    if (meta['externalAccountRequired'] === true && binding === undefined)
      return [
        report.problem(
          tried,
          'the authority wants an external account binding',
          'set local.front.acme.binding.kid and local.front.acme.binding.hmac',
        ),
      ]
    const profiles = Object.keys(meta['profiles'] ?? {})
    if (profile !== undefined && !profiles.includes(profile))
      return [
        report.problem(
          tried,
          `it has no profile ${profile}, but ${profiles.join(', ') || 'none at all'}`,
          'correct local.front.acme.profile',
        ),
      ]
    return [report.ok(tried, 'the authority answers')]
  } catch (error) {
    return [
      report.problem(
        tried,
        (error as Error).message,
        'correct local.front.acme.directory, or ca-file beside it; else look at firewall and proxy',
      ),
    ]
  } finally {
    authority.close()
  }
}

function checkHook({ dnsHook }: AcmeSettings, report: Reporter): Finding[] {
  if (dnsHook === undefined) return []
  const tried = `look for the program ${dnsHook}`
  try {
    accessSync(dnsHook, constants.X_OK)
    return [report.ok(tried, 'this user may start it')]
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    const advice = 'correct local.front.acme.dns.hook, or make it executable for this user'
    return [report.problem(tried, code, advice)]
  }
}
