/** Text of the draft, JSON or YAML: what can be read flows into the draft while it is typed. */
import { syntaxTree } from '@codemirror/language'
import { setDiagnostics } from '@codemirror/lint'
import { EditorState } from '@codemirror/state'
import { EditorView } from '@codemirror/view'
import { effect } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { Banner } from '../components/banner.tsx'
import { Button } from '../components/button.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { Segments } from '../components/tabs.tsx'
import { writeExtensions } from './code-mirror.ts'
import { readDefinitionFile } from './definition-file.ts'
import type { TextFormat, TextLanguage } from './definition-text.ts'
import type { Draft, TabProps } from './draft.ts'
import { toDraft } from './history.ts'
import { jsonText } from './json-text.ts'
import { Lazy } from './lazy.tsx'
import { helpExtensions, toDiagnostics } from './text-help.ts'
import { TextSession } from './text-session.ts'
import { textWords } from './text-words.ts'
import { editorWords } from './words.ts'

const formats = [
  { id: 'json', label: textWords.json },
  { id: 'yaml', label: textWords.yaml },
] as const
/** What is typed is read after this pause. */
const readDelayMs = 250

export function TextTab({ draft }: TabProps) {
  const { query } = useLocation()
  const change = useQueryChange()
  const broken = draft.unreadable.value
  const format: TextFormat = broken?.format ?? (query['format'] === 'yaml' ? 'yaml' : 'json')
  const readNow = useRef(() => {})
  const choose = (id: TextFormat) => {
    readNow.current()
    // Text that cannot be read cannot be written in the other format either.
    if (draft.unreadable.peek() === undefined) change({ format: id === 'json' ? undefined : id })
  }
  const [hasComments, setHasComments] = useState(false)
  const [generation, setGeneration] = useState(0)
  const isReadOnly = draft.readOnly.value !== undefined
  const showImport = (id: TextFormat) => {
    change({ format: id === 'json' ? undefined : id })
    setGeneration(generation + 1)
  }
  const revert = () => {
    // What was typed last would be read when the editor closes, and come back.
    readNow.current()
    draft.unreadable.value = undefined
    setGeneration(generation + 1)
  }
  return (
    <div class="text-view">
      <div class="toolbar">
        <Segments label={textWords.format} options={formats} selected={format} onSelect={choose} />
        <p class="muted grow">{textWords.textKeys}</p>
        {!isReadOnly && <ImportFile draft={draft} readNow={readNow} onImported={showImport} />}
      </div>
      {format === 'yaml' && hasComments && <Banner tone="warning">{textWords.yamlComments}</Banner>}
      <Lazy
        key={`${format} ${isReadOnly} ${generation}`}
        load={format === 'json' ? loadJson : loadYaml}
        props={{ draft, isReadOnly, readNow, onComments: setHasComments }}
      />
      <div class="text-state" aria-live="polite">
        {broken !== undefined && <Broken message={broken.message} onRevert={revert} />}
      </div>
    </div>
  )
}

function Broken({ message, onRevert }: { message: string; onRevert: () => void }) {
  const actions = (
    <Button small onClick={onRevert}>
      {textWords.revertText}
    </Button>
  )
  return (
    <Banner tone="warning" actions={actions}>
      {textWords.textBroken(message)}
    </Banner>
  )
}

interface ImportFileProps {
  readonly draft: Draft
  readonly readNow: { readonly current: () => void }
  readonly onImported: (format: TextFormat) => void
}

/** Replaces the draft by what a file says; it stays the same pipeline. */
function ImportFile({ draft, readNow, onImported }: ImportFileProps) {
  const input = useRef<HTMLInputElement>(null)
  const [error, setError] = useState<string | undefined>(undefined)
  const open = async (file: File | undefined) => {
    setError(undefined)
    if (file === undefined) return
    try {
      const { text, format, parsed } = await readDefinitionFile(file)
      readNow.current()
      if (parsed.kind === 'definition') {
        draft.unreadable.value = undefined
        draft.replace(toDraft(parsed.definition, draft.definition.peek()), editorWords.imported(file.name))
      } else draft.unreadable.value = { text, format, message: editorWords.fileUnreadable(file.name, parsed.problem.message) }
      onImported(format)
    } catch (cause) {
      setError((cause as Error).message)
    }
  }
  return (
    <>
      {error !== undefined && (
        <span class="error" role="alert">
          {error}
        </span>
      )}
      <input
        ref={input}
        type="file"
        hidden
        accept=".json,.yaml,.yml,.txt,application/json"
        onChange={(event) => {
          void open(event.currentTarget.files?.[0])
          // The same file can be opened again.
          event.currentTarget.value = ''
        }}
      />
      <Button small onClick={() => input.current?.click()}>
        {editorWords.importFile}
      </Button>
    </>
  )
}

const loadJson = async () => (props: TextEditorProps) => <TextEditor {...props} language={jsonText} />

const loadYaml = async () => {
  const { yamlText } = await import('./yaml-text.ts')
  return (props: TextEditorProps) => <TextEditor {...props} language={yamlText} />
}

interface TextEditorProps {
  readonly draft: Draft
  readonly isReadOnly: boolean
  /** Set to what reads the text without a pause. */
  readonly readNow: { current: () => void }
  readonly onComments: (hasComments: boolean) => void
}

type LanguageProps = TextEditorProps & { readonly language: TextLanguage }

function TextEditor(props: LanguageProps) {
  const holder = useRef<HTMLDivElement>(null)
  useEffect(() => openText(holder.current as HTMLDivElement, props), [])
  return <div class="code-box" ref={holder} />
}

/** @returns what closes it; what was typed last is read then */
function openText(parent: HTMLElement, { draft, language, isReadOnly, readNow, onComments }: LanguageProps): () => void {
  const session = new TextSession(draft, language)
  let timer: ReturnType<typeof setTimeout> | undefined
  const read = () => {
    clearTimeout(timer)
    timer = undefined
    session.edit(view.state.doc.toString(), performance.now())
    onComments(hasComments(view))
  }
  const isTyped = EditorView.updateListener.of((update) => {
    if (!update.docChanged || update.transactions.every((transaction) => transaction.isUserEvent('outside'))) return
    clearTimeout(timer)
    timer = setTimeout(read, readDelayMs)
  })
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: session.text,
      extensions: [
        ...helpExtensions(draft, language.format),
        ...writeExtensions(language.extension, textWords.textLabel(language.format.toUpperCase())),
        EditorState.readOnly.of(isReadOnly),
        isTyped,
      ],
    }),
  })
  onComments(hasComments(view))
  const stopFollowing = effect(() => {
    const text = session.outsideText()
    if (text === undefined) return
    view.dispatch({ changes: changeBetween(view.state.doc.toString(), text), userEvent: 'outside' })
  })
  const stopMarking = effect(() => {
    draft.problems.value
    draft.unreadable.value
    const text = view.state.doc.toString()
    view.dispatch(setDiagnostics(view.state, toDiagnostics(text, session.problemOf(text), draft, language)))
  })
  readNow.current = () => {
    if (timer !== undefined) read()
  }
  return () => {
    readNow.current()
    readNow.current = () => {}
    stopFollowing()
    stopMarking()
    view.destroy()
  }
}

/** The smallest replacement, so that the cursor keeps its place. */
function changeBetween(before: string, after: string): { from: number; to: number; insert: string } {
  const shorter = Math.min(before.length, after.length)
  let start = 0
  while (start < shorter && before[start] === after[start]) start++
  let end = 0
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++
  return { from: start, to: before.length - end, insert: after.slice(start, after.length - end) }
}

function hasComments(view: EditorView): boolean {
  let found = false
  syntaxTree(view.state).iterate({
    enter: ({ name }) => {
      if (name === 'Comment') found = true
      return !found
    },
  })
  return found
}
