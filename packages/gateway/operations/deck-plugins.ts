/** Plug-ins of Deck, as the operations below `/plugins/deck` see them. */

export interface DeckPlugin {
  readonly id: string
  readonly name: string
  readonly version: string
}

export interface DeckPluginAsset {
  readonly bytes: Buffer
  readonly type: string
}

export interface DeckPlugins {
  manifest(): readonly DeckPlugin[]
  asset(id: string, version: string, name: string): Promise<DeckPluginAsset | undefined>
}
