/**
 * The kinds of values that settings have. Each capability lists its settings in `settings.ts` beside its code: an object
 * whose keys are the full names, as an operator writes them, and whose values say type, default and meaning.
 */
import { z } from 'zod'

export interface SettingsReport {
  /** A mistake: the start is refused. File and line of the key are added by the configuration. */
  problem(key: string, message: string): void
  /** Worth a line at each start. */
  notice(message: string): void
  /** Whether any source sets this key, or one below it. */
  isSet(key: string): boolean
  /** The environment variable, or the key; undefined when nothing sets it. */
  variable?(name: string): string | undefined
}

export interface SettingNotes {
  description?: string
  /** Shown as the type in the reference, where the schema alone does not tell. */
  type?: string
  /** `none`: known, so that Gate's files load, but without effect; neither resolved nor checked. */
  effect?: 'none'
  /** Another key with the same parts; the reference lists them there alone. */
  sameAs?: string
  /** A short environment variable, besides the long form of the key. */
  env?: string
  /** `${name}` that nothing defines stays as it is: the setting is a template that is filled later. */
  template?: true
}

/** The key that operators write, and the schema that gives its type, default and check. */
class Setting<Schema extends z.ZodType> {
  readonly key: string
  readonly schema: Schema
  readonly aliases: readonly string[]

  constructor(key: string, schema: Schema, aliases: readonly string[]) {
    this.key = key
    this.schema = schema
    this.aliases = aliases
  }

  describe(description: string): Setting<Schema> {
    return new Setting(this.key, this.schema.describe(description), this.aliases)
  }
}

/** @param keys The key, and other names of it that win over the key where both are set */
export function setting<Schema extends z.ZodType>(
  keys: string | readonly [string, ...string[]],
  schema: Schema,
): Setting<Schema> {
  const [key, ...aliases] = typeof keys === 'string' ? [keys] : keys
  return new Setting(key, schema, aliases)
}

/** Settings by the names that the code uses, in objects as it wants them. */
interface SettingTree {
  readonly [name: string]: Setting<z.ZodType> | SettingTree
}

export type SettingValues<Tree> = {
  [Name in keyof Tree]: Tree[Name] extends Setting<infer Schema>
    ? z.output<Schema>
    : SettingValues<Tree[Name]>
}

export interface SettingGroup<Values = unknown> {
  readonly keys: z.ZodObject
  /** @param bound Values by key */
  read(bound: object): Values
}

export type SettingsOf<Group> = Group extends SettingGroup<infer Values> ? Values : never

/** @param ignored Keys of Gate that Fairlead knows and does not need, with the reason */
export function settings<const Tree extends SettingTree>(
  tree: Tree,
  ignored: Readonly<Record<string, string>> = {},
): SettingGroup<SettingValues<Tree>> {
  const shape = Object.fromEntries([
    ...entriesOf(tree),
    ...Object.entries(ignored).map(([key, reason]) => [key, withoutEffect(reason)] as const),
  ])
  return {
    keys: z.strictObject(shape),
    read: (bound) => valuesOf(tree, bound as Record<string, unknown>) as SettingValues<Tree>,
  }
}

export function defaultsOf<Values>(group: SettingGroup<Values>): Values {
  // Parsed once, which compiles nothing.
  return group.read(group.keys.parse({}, { jitless: true }))
}

export function keysOf(types: readonly { readonly keys: z.ZodObject }[]): z.core.$ZodShape {
  return Object.assign({}, ...types.map(({ keys }) => keys.shape)) as z.core.$ZodShape
}

/** Settings by the id of their type, of those that are switched on. */
export function settingsById<Type extends { readonly id: string }, Settings>(
  types: readonly Type[],
  toSettings: (type: Type) => Settings | undefined,
): Readonly<Record<string, Settings>> {
  const all = types.flatMap((type) => {
    const found = toSettings(type)
    return found === undefined ? [] : [[type.id, found] as const]
  })
  return Object.fromEntries(all)
}

function entriesOf(tree: SettingTree): (readonly [string, z.ZodType])[] {
  return Object.values(tree).flatMap((part) => {
    if (!(part instanceof Setting)) return entriesOf(part)
    const { key, schema, aliases } = part
    if (aliases.length === 0) return [[key, schema] as const]
    const aliasSchema = withoutDefault(schema)
      .optional()
      .describe(`Another name of \`${key}\`; overrides it.`)
    return [[key, schema] as const, ...aliases.map((name) => [name, aliasSchema] as const)]
  })
}

function withoutDefault(schema: z.core.$ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return withoutDefault(schema.def.innerType)
  if (!(schema instanceof z.ZodPipe)) return schema as z.ZodType
  const input = withoutDefault(schema.def.in)
  return input === schema.def.in ? schema : z.pipe(input, schema.def.out)
}

function valuesOf(
  tree: SettingTree,
  bound: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(tree).map(([name, part]) => {
      if (!(part instanceof Setting)) return [name, valuesOf(part, bound)]
      return [name, bound[part.aliases.find((key) => bound[key] !== undefined) ?? part.key]]
    }),
  )
}

const anything = z.unknown().optional()

/** A key of Gate that Fairlead knows and does not need. */
export function withoutEffect(description: string): z.ZodOptional<z.ZodUnknown> {
  return anything.meta({ description, effect: 'none' })
}

export const off = z.boolean().default(false)
export const on = z.boolean().default(true)
export const optionalFlag = z.boolean().optional()
/** An empty value unsets its key, so the text is not empty. */
export const optionalText = z.string().optional()
export const texts = z.array(z.string()).default([])
export const optionalTexts = z.array(z.string()).optional()

export function whole(min: number, max: number = Number.MAX_SAFE_INTEGER): z.ZodInt {
  return z.int().min(min).max(max)
}

/** One of these lower-case words, in any case. */
export function word<const Words extends readonly [string, ...string[]]>(words: Words) {
  const type = words.join(', ').replace(/, ([^,]*)$/, ' or $1')
  return z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(words))
    .meta({ type })
}

export function inSeconds<Schema extends z.ZodType<number>>(
  schema: Schema,
): z.ZodPipe<Schema, z.ZodTransform<number, number>> {
  return schema.transform((seconds) => seconds * 1000) as never
}

/** An absolute http or https address; the result has no trailing slash. */
export const httpAddress = z
  .string()
  .refine(isHttpAddress, 'must be an absolute address such as http://orca.example:8083')
  .transform(withoutSlash)
  .meta({ type: 'address' })

/** An address without slashes at its end, so that paths can be appended. */
export function withoutSlash(address: string): string {
  return address.replace(/(?<!\/)\/+$/, '')
}

export const port = z.int().min(0).max(65535)

/** Bounded by what a timer can wait. */
export const milliseconds = z.int().min(0).max(2_147_483_647)

const longestWaitMs = 60_000

/**
 * A timeout on the way of every login or request, in milliseconds. 0, which is "no timeout" to Gate, is a minute: a server that
 * hangs would otherwise hold each of them for good.
 */
export function boundedTimeout(ms: number): number {
  return ms === 0 ? longestWaitMs : ms
}

/** A text of one form. @param parse Undefined for a text of any other @param form For the message: what it must be */
export function textAs<Value>(
  parse: (text: string) => Value | undefined,
  form: string,
): z.ZodPipe<z.ZodString, z.ZodTransform<Value, string>> {
  return z.string().transform((text, context) => {
    const parsed = parse(text)
    if (parsed === undefined) context.addIssue(`must be ${form}`)
    return parsed ?? z.NEVER
  })
}

/** A length of time, `30m`, `PT30M` or a plain number in `unit`; the result is in milliseconds. */
export function duration(unit: 's' | 'ms'): z.ZodPipe<z.ZodString, z.ZodTransform<number, string>> {
  const time = textAs(
    (text) => parseDuration(text, unit),
    'a length of time such as 30s, 15m or PT1H',
  )
  return time.meta({ type: `duration (plain numbers: ${unit})` })
}

/** A number of bytes, also as `10MB` or `512KB` (powers of 1024). */
export const byteCount = textAs(parseByteCount, 'a number of bytes such as 10485760 or 10MB').meta({
  type: 'bytes',
})

/** A regular expression in Java's dialect, which must match the whole text. */
export const wholePattern = z
  .string()
  .transform((text, context) => {
    try {
      return parseJavaPattern(text)
    } catch (error) {
      context.addIssue(`must be a regular expression: ${(error as Error).message}`)
      return z.NEVER
    }
  })
  .meta({ type: 'regular expression' })

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

function parseDuration(text: string, unit: 's' | 'ms'): number | undefined {
  const simple = /^(\d{1,12})\s*(ms|s|m|h|d)?$/i.exec(text.trim())
  if (simple) return Number(simple[1]) * (unitMs[(simple[2] ?? unit).toLowerCase()] as number)
  const iso =
    /^P(?:(\d{1,9})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:\.\d{1,3})?)S)?)?$/i.exec(
      text.trim(),
    )
  if (!iso || text.trim().length < 3) return undefined
  const [days, hours, minutes, seconds] = iso.slice(1).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
  ]
  return Math.round(days * 86_400_000 + hours * 3_600_000 + minutes * 60_000 + seconds * 1000)
}

function parseByteCount(text: string): number | undefined {
  const match = /^(\d{1,12})\s*(B|KB|MB|GB)?$/i.exec(text.trim())
  if (!match) return undefined
  const power = { B: 0, KB: 1, MB: 2, GB: 3 }[(match[2] ?? 'B').toUpperCase()] ?? 0
  return Number(match[1]) * 1024 ** power
}

function isHttpAddress(text: string): boolean {
  if (!/^https?:\/\/[^/\s]/i.test(text)) return false
  return URL.canParse(text) && !/[\s\\]/.test(text)
}

/** Atomic groups, possessive quantifiers, other escapes, flags within, nested classes; searched without harmless escapes. */
const javaOnly =
  /\(\?>|(?:[*+?]|\{\d+(?:,\d*)?\})\+|\\[QEGAZzpPhHRXN]|\(\?[a-zA-Z]+\)|\[[^\]]*\[|&&/

/**
 * Translates what operators wrote for Gate: a leading `(?i)` becomes a flag, and the result matches whole texts only.
 *
 * @throws {Error} when the pattern uses what only Java has (possessive quantifiers, atomic groups, `\Q…\E`, `\p{…}`), or is malformed.
 */
export function parseJavaPattern(text: string): RegExp {
  const { source, flags } = translateJava(text)
  return new RegExp(`^(?:${source})$`, flags)
}

/** The same for a pattern that is searched for. @param flag Holds in addition to those of the pattern @throws {Error} */
export function parseJavaSearch(text: string, flag: 'i' | 'g'): RegExp {
  const { source, flags } = translateJava(text)
  return new RegExp(source, flags.replaceAll(flag, '') + flag)
}

function translateJava(text: string): { source: string; flags: string } {
  const flags = /^\(\?([ims]+)\)/.exec(text)
  const source = flags ? text.slice(flags[0].length) : text
  const foreign = javaOnly.exec(source.replaceAll(/\\[^QEGAZzpPhHRXN]/g, '  '))
  if (foreign)
    throw new Error(`"${foreign[0]}" is not supported here; write the pattern without it`)
  return { source, flags: flags?.[1] ?? '' }
}
