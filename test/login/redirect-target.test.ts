/** Where a browser may be sent after the login: every attempt of an open redirect is refused. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { GatewayError } from '../../packages/base/errors.ts'
import { parseJavaPattern } from '../../packages/base/settings/setting.ts'
import {
  checkRedirectTarget,
  type UiAddress,
} from '../../packages/gateway/login/redirect-target.ts'

const gateway = 'https://gate.example.com/gate'
const ui: UiAddress = {
  uiUrl: 'https://deck.example.com',
  uiHostPattern: undefined,
  servesConsole: true,
}
const at = (uiUrl: string): UiAddress => ({ uiUrl, uiHostPattern: undefined, servesConsole: true })
const matching = (pattern: string): UiAddress => ({
  uiUrl: 'https://deck.example.com',
  uiHostPattern: parseJavaPattern(pattern),
  servesConsole: true,
})

const accepted: [number, UiAddress, string[]][] = [
  [
    35,
    ui,
    [
      'https://deck.example.com',
      'https://deck.example.com/#/applications?x=1',
      'https://deck.example.com:443/a',
      'https://deck.example.com?a=,b',
    ],
  ],
  [36, ui, ['https://DECK.example.com/', 'HTTPS://deck.example.com/']],
  [51, at('http://localhost:9000'), ['http://localhost:9000/x']],
  [52, at('http://deck.example.com'), ['http://deck.example.com:80/', 'https://deck.example.com/']],
  [53, matching('.*\\.root\\.net'), ['http://spinnaker.root.net:8000']],
]

const refused: [number, UiAddress, string[]][] = [
  [33, at(''), ['https://deck.example.com/']],
  [
    37,
    ui,
    ['//evil.com', '///evil.com', '/\\evil.com', '\\\\evil.com', '/relative', 'relative', '?x'],
  ],
  [38, ui, ['https://evil.com', 'http://evil.com/deck.example.com']],
  [
    39,
    ui,
    [
      'https://deck.example.com.evil.com/',
      'https://evildeck.example.com/',
      'https://deck.example.com-evil.com/',
    ],
  ],
  [
    40,
    ui,
    [
      'https://deck.example.com@evil.com/',
      'https://deck.example.com:443@evil.com/',
      'https://@evil.com',
      'https://deck.example.com:@evil.com',
    ],
  ],
  [
    41,
    ui,
    [
      'https://evil.com\\@deck.example.com/',
      'https://evil.com;@deck.example.com/',
      'https://user:pw@deck.example.com/',
    ],
  ],
  [
    42,
    ui,
    [
      'https://evil.com#@deck.example.com/',
      'https://evil.com?@deck.example.com/',
      'https://deck.example.com\\.evil.com',
    ],
  ],
  [
    43,
    ui,
    [
      'https://deck.example.com:8443/',
      'https://deck.example.com:80/',
      'https://deck.example.com:99999/',
      'https://deck.example.com:4x/',
    ],
  ],
  [
    44,
    ui,
    ['http://deck.example.com/', 'http://deck.example.com:443/', 'ftp://deck.example.com:443/'],
  ],
  [
    45,
    ui,
    [
      'javascript:alert(1)',
      'JaVaScRiPt://deck.example.com/%0aalert(1)',
      'data:text/html,x',
      'file://deck.example.com/',
      'vbscript:x',
      'blob:https://deck.example.com/x',
    ],
  ],
  [
    46,
    ui,
    [
      'https:deck.example.com',
      'https:/deck.example.com/',
      'https:///evil.com/',
      'https:////evil.com/',
      'https://',
      'https://:443/',
    ],
  ],
  [
    47,
    ui,
    [
      ' https://deck.example.com',
      'https://deck.example.com ',
      'https://deck.exa\tmple.com',
      'https://deck.example.com\r\nSet-Cookie:x=1',
      'https://deck.example.com%0d%0aSet-Cookie:x=1',
      'https://deck.example.com/\u0000',
    ],
  ],
  [48, ui, ['https://deck.example.com%2eevil.com/', 'https%3A%2F%2Fdeck.example.com']],
  [
    49,
    ui,
    [
      'https://ⓓeck.example.com/',
      'https://deck。example.com/',
      'https://deck.example.com./',
      'https://deck.example.com/ü',
    ],
  ],
  [50, ui, ['', `https://deck.example.com/${'x'.repeat(10_000)}`]],
  [
    51,
    at('http://localhost:9000'),
    [
      'http://localhost:8000',
      'http://127.0.0.1:9000',
      'http://[::1]:9000',
      'http://localhost:9000.evil.com/',
    ],
  ],
  [
    53,
    matching('.*\\.root\\.net'),
    ['https://root.net.evil.com', 'https://xroot.net', 'https://deck.example.com'],
  ],
  [54, matching('root.net'), ['http://spinnaker.root.net:8000']],
  [
    55,
    matching('.*\\.root\\.net'),
    [
      'https://evil.com\\.root.net/',
      'https://evil.com/.root.net',
      'https://evil.com#.root.net',
      'https://evil.com?.root.net',
      'javascript://a.root.net/%0aalert(1)',
      'ftp://a.root.net/',
    ],
  ],
]

for (const [scenario, address, targets] of accepted) {
  for (const to of targets) {
    test(`auth-scenario ${scenario}: ${JSON.stringify(to)} is accepted byte for byte`, () => {
      assert.equal(checkRedirectTarget([to], address, gateway), to)
    })
  }
}

for (const [scenario, address, targets] of refused) {
  for (const to of targets) {
    test(`auth-scenario ${scenario}: ${JSON.stringify(to.slice(0, 60))} is refused and not repeated`, () => {
      assert.throws(
        () => checkRedirectTarget([to], address, gateway),
        (error) =>
          error instanceof GatewayError &&
          error.status === 400 &&
          (to.length < 10 || !error.message.includes(to)),
      )
    })
  }
}

test('auth-scenario 50: an address given twice, or not at all, is refused', () => {
  for (const targets of [
    [],
    ['https://deck.example.com', 'https://evil.com'],
    ['https://deck.example.com', 'https://deck.example.com'],
  ]) {
    assert.throws(() => checkRedirectTarget(targets, ui, gateway), { code: 'REDIRECT_REFUSED' })
  }
})

test('an accepted address stays within the UI', () => {
  const characters = [
    '/',
    '\\',
    '@',
    ':',
    '#',
    '?',
    '%2f',
    '.',
    'evil.com',
    'deck.example.com',
    '\t',
    ';',
    '//',
    '[',
    ']',
    '443',
    '&',
    ' ',
  ]
  let accepted = 0
  for (let seed = 0; seed < characters.length ** 5; seed += 89) {
    const parts = [0, 1, 2, 3, 4].map(
      (digit) => characters[Math.floor(seed / characters.length ** digit) % characters.length],
    )
    const to = `https://${parts.join('')}`
    try {
      checkRedirectTarget([to], ui, gateway)
    } catch {
      continue
    }
    assert.equal(new URL(to).origin, 'https://deck.example.com', to)
    accepted++
  }
  assert.ok(accepted > 20)
})

const ownAddresses = [
  '/gate/console',
  '/gate/console/',
  '/gate/console?q=1',
  '/gate/console/applications/web/pipelines?q=a%20b&status=failed#top',
  '/gate/console/applications/caf%C3%A9',
  'https://gate.example.com/gate/console/executions/01KB',
]

for (const to of ownAddresses) {
  test(`the own console ${to} is accepted byte for byte`, () => {
    for (const address of [ui, at(''), matching('nothing')])
      assert.equal(checkRedirectTarget([to], address, gateway), to)
    assert.throws(() => checkRedirectTarget([to], { ...ui, servesConsole: false }, gateway), {
      code: 'REDIRECT_REFUSED',
    })
  })
}

const notOwn = [
  '/',
  '/gate',
  '/gate/',
  '/console',
  '/gate/consoles',
  '/gate/console@evil.com',
  '/gate/console.evil.com',
  '/gate/console:80',
  '/gate/console;x',
  '//evil.com/gate/console',
  '//gate.example.com/gate/console',
  '/\\evil.com/gate/console',
  '/gate/console/\\evil.com',
  '/gate//console',
  '/gate/console//evil.com',
  '/gate/console/../x',
  '/gate/console/..',
  '/gate/console/./x',
  '/gate/console/%2e%2e/x',
  '/gate/console/%2E./x',
  '/gate/console/..%2fx',
  '/gate/console/x%5cy',
  '/gate/console/%00',
  '/gate/console/a%252e',
  '/gate/%63onsole',
  '/gate/Console',
  'gate/console',
  ' /gate/console',
  '/gate/console/\r\nSet-Cookie:x',
  'http://gate.example.com/gate/console',
  'https://gate.example.com:8443/gate/console',
  'https://gate.example.com.evil.com/gate/console',
  'https://user@gate.example.com/gate/console',
  'https://gate.example.com@evil.com/gate/console',
  'https://evil.com/gate/console',
  'HTTPS://gate.example.com/gate/console',
  'javascript:/gate/console',
]

for (const to of notOwn) {
  test(`${JSON.stringify(to)} is no address of the own console`, () => {
    assert.throws(() => checkRedirectTarget([to], ui, gateway), { code: 'REDIRECT_REFUSED' })
  })
}

test('an accepted address of the console stays below it', () => {
  const characters = [
    '/',
    '\\',
    '@',
    ':',
    '#',
    '?',
    '%2f',
    '.',
    '..',
    'evil.com',
    '\t',
    ';',
    '//',
    'x',
    '%2e',
  ]
  let accepted = 0
  for (let seed = 0; seed < characters.length ** 4; seed += 7) {
    const parts = [0, 1, 2, 3].map(
      (digit) => characters[Math.floor(seed / characters.length ** digit) % characters.length],
    )
    const to = `/gate/console${parts.join('')}`
    try {
      checkRedirectTarget([to], ui, gateway)
    } catch {
      continue
    }
    const url = new URL(to, gateway)
    assert.equal(url.origin, 'https://gate.example.com', to)
    assert.match(url.pathname, /^\/gate\/console(?:\/|$)/, to)
    accepted++
  }
  assert.ok(accepted > 100)
})
