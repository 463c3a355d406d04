/** The forms in which usual tools write a secret into a log by accident. */

/** A shorter one stands in too many other texts. */
const minEncodedLength = 8

/** A longer one is a file, which tools do not quote; all its forms would have megabytes. */
const maxQuotedLength = 4096

type Rewrite = (text: string) => string
const same: Rewrite = (text) => text

/** Without the plain value itself. */
export function formsOf(value: string): string[] {
  const text = value.toWellFormed()
  if (text.length > maxQuotedLength)
    return [...base64Forms(text), JSON.stringify(text).slice(1, -1), encodeURIComponent(text)]
  const encoded = [...base64Forms(text), ...hexForms(text)].filter(
    (form) => form.length >= minEncodedLength,
  )
  return [
    ...encoded,
    ...jsonForms(text),
    ...markupForms(text),
    ...urlForms(text),
    ...shellForms(text),
    ...literalForms(text),
  ]
}

/** Also as the end of a longer text, such as `user:secret`, and as its middle: at each of the three places in a group of bytes. */
function base64Forms(text: string): string[] {
  const plain = [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)])
    const whole = bytes.toString('base64').slice(before && before + 1)
    const certain = Math.floor((bytes.length * 8) / 6) - (before && before + 1)
    return [whole, whole.replaceAll('=', ''), whole.slice(0, certain)]
  })
  return plain.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')])
}

function hexForms(text: string): string[] {
  const pairs = [...Buffer.from(text)].map((byte) => byte.toString(16).padStart(2, '0'))
  return ['', ' ', ':']
    .map((between) => pairs.join(between))
    .flatMap((form) => [form, form.toUpperCase()])
}

function jsonForms(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1)
  const ofHtml = each(/[&<>]/g, unicode)
  const ascii = each(/[^\0-\x7e]/g, unicode)
  const strict = each(/[&<>'+`\x7f-\uffff]|\\"/g, (found) =>
    unicode(found.at(-1) ?? '').replace(/\w{4}$/, upper),
  )
  const forms = combine(json, [
    [same, ofHtml],
    [
      same,
      ascii,
      (found) =>
        ascii(found).replaceAll(/\\u([\da-f]{4})/g, (_, digits: string) => `\\u${upper(digits)}`),
    ],
    [same, each(/\//g, () => '\\/')],
  ])
  // A log in JSON quotes JSON.
  return [...forms, strict(json), JSON.stringify(json).slice(1, -1)]
}

function markupForms(text: string): string[] {
  return combine(text.replaceAll('&', '&amp;').replaceAll('<', '&lt;'), [
    [same, each(/>/g, () => '&gt;')],
    [same, ...['&quot;', '&#34;', '&#x22;'].map((name) => each(/"/g, () => name))],
    [same, ...['&apos;', '&#39;', '&#039;', '&#x27;'].map((name) => each(/'/g, () => name))],
    [same, each(/[^\0-\x7f]/gu, (found) => `&#${found.codePointAt(0)};`)],
  ])
}

function urlForms(text: string): string[] {
  const component = encodeURIComponent(text)
  const strict = component.replaceAll(
    /[!'()*]/g,
    (found) => `%${upper(found.charCodeAt(0).toString(16))}`,
  )
  const address = new URL('http://host')
  address.password = text
  const forms = [
    ...[component, strict, encodeURI(text), address.password],
    ...[component, strict].map((form) => form.replaceAll('%2F', '/')),
    ...[strict, strict.replaceAll('~', '%7E')].map((form) => form.replaceAll('%20', '+')),
    new URLSearchParams([['', text]]).toString().slice(1),
  ]
  return forms.flatMap((form) => [
    form,
    form.replaceAll(/%[\dA-F]{2}/g, (found) => found.toLowerCase()),
  ])
}

/** Forms of shells, in `set -x` and `printf %q`. */
function shellForms(text: string): string[] {
  const dollar = text
    .replaceAll(/[\\']/g, '\\$&')
    .replaceAll('\n', '\\n')
    .replaceAll('\t', '\\t')
    .replaceAll('\r', '\\r')
  return [
    text.replaceAll("'", "'\\''"),
    text.replaceAll(/'+/g, `'"$&"'`),
    text.replaceAll(/["\\$`]/g, '\\$&'),
    text.replaceAll(/[\s!"#$&'()*,;<>?[\\\]^`{|}]/g, '\\$&'),
    dollar,
    each(/[^\0-\x7f]/gu, (found) => inBytes(found, 8))(dollar),
  ]
}

/** Forms of Python and other languages, for a text and its bytes. */
function literalForms(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"')
  const ascii = each(/[^\0-\x7f]/g, (found) =>
    found <= '\xff' ? `\\x${hexOf(found, 2)}` : unicode(found),
  )
  return combine(json, [
    [same, ascii, each(/[^\0-\x7f]/gu, (found) => inBytes(found, 16))],
    [same, each(/'/g, () => "\\'")],
  ])
}

function inBytes(text: string, base: 8 | 16): string {
  return [...Buffer.from(text)]
    .map((byte) => (base === 8 ? `\\${byte.toString(8)}` : `\\x${byte.toString(16)}`))
    .join('')
}

function unicode(character: string): string {
  return `\\u${hexOf(character, 4)}`
}

function hexOf(character: string, length: number): string {
  return character.charCodeAt(0).toString(16).padStart(length, '0')
}

function upper(text: string): string {
  return text.toUpperCase()
}

function each(pattern: RegExp, write: (found: string) => string): Rewrite {
  return (text) => text.replaceAll(pattern, write)
}

/** The text after one rewrite of each list, in all combinations. */
function combine(text: string, choices: readonly (readonly Rewrite[])[]): string[] {
  return choices.reduce(
    (texts, rewrites) => [
      ...new Set(texts.flatMap((each) => rewrites.map((rewrite) => rewrite(each)))),
    ],
    [text],
  )
}
