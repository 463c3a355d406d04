/** Settings of pages: name, text and logo. */
import { readFileSync, statSync } from 'node:fs'
import {
  optionalText,
  type SettingsReport,
  type SettingValues,
  setting,
} from '@fairlead/base/settings/setting.ts'
import { explainUnreadable } from '@fairlead/base/storage/file-fault.ts'
import { z } from 'zod'
import { type Brand, fairleadBrand } from '../http/page.ts'

/** The logo is part of every page that shows it. */
const maxLogoBytes = 100 * 1024
const pngStart = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

export const pageKeys = {
  title: setting('ui.name', z.string().max(60).optional()).describe(
    'Name of this installation on the login page and all other pages, such as `Acme production`. Default: Fairlead.',
  ),
  text: setting('ui.loginText', z.string().max(600).optional()).describe(
    'Text above the login form, such as a help contact; line breaks are kept.',
  ),
  logo: setting('ui.logo', optionalText).describe(
    'SVG or PNG file, up to 100 KB, shown instead of the Fairlead logo.',
  ),
}

export function toBrand(
  { title, text, logo }: SettingValues<typeof pageKeys>,
  report: SettingsReport,
): Brand {
  return {
    title: title?.trim() || fairleadBrand.title,
    lead: title === undefined ? fairleadBrand.lead : `to ${title.trim()}`,
    text: text?.trim() || undefined,
    logo: logo === undefined ? undefined : readLogo(logo, report),
  }
}

/** A data address: nothing has to be fetched, and nothing in the file can run. */
function readLogo(file: string, report: SettingsReport): string | undefined {
  const bytes = readSmallFile(file, report)
  if (bytes === undefined) return undefined
  const type = bytes.subarray(0, pngStart.length).equals(pngStart)
    ? 'image/png'
    : isSvg(bytes)
      ? 'image/svg+xml'
      : undefined
  if (type === undefined) report.problem('ui.logo', `the file ${file} is neither SVG nor PNG`)
  return type && `data:${type};base64,${bytes.toString('base64')}`
}

function readSmallFile(file: string, report: SettingsReport): Buffer | undefined {
  try {
    const { size } = statSync(file)
    if (size <= maxLogoBytes) return readFileSync(file)
    report.problem(
      'ui.logo',
      `the file ${file} has ${size} bytes, and ${maxLogoBytes} are allowed; make it smaller`,
    )
  } catch (error) {
    report.problem('ui.logo', explainUnreadable(file, error))
  }
  return undefined
}

function isSvg(bytes: Buffer): boolean {
  let text = bytes
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart()
  for (;;) {
    const prologue = text.startsWith('<!--')
      ? '-->'
      : /^<(?:\?xml|!DOCTYPE)/i.test(text)
        ? '>'
        : undefined
    if (prologue === undefined) return /^<svg[\s>]/i.test(text)
    const end = text.indexOf(prologue)
    if (end === -1) return false
    text = text.slice(end + prologue.length).trimStart()
  }
}
