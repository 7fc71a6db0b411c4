import { Argument, type Command } from 'commander'
import { EXIT } from './failure.ts'

// Scripts of fixed words: a Tab starts no process and evaluates nothing that was typed.

const SHELLS = { bash: toBash, zsh: toZsh, fish: toFish }

/** What can follow a command: `accounts create` and its options. The program itself has the empty path. */
interface Place {
  path: string
  description: string
  words: { word: string; description: string }[]
  /** The values of options that take one of a list, by the option's name. */
  values: Map<string, readonly string[]>
}

/** `program` must hold every command with its options. */
export function defineCompletion(command: Command, program: Command): void {
  command
    .addArgument(new Argument('<shell>', 'your shell').choices(Object.keys(SHELLS)))
    .addHelpText('after', HELP)
    .action((shell: keyof typeof SHELLS) => {
      process.stdout.write(SHELLS[shell](placesOf(program, '')))
      process.exitCode = EXIT.done
    })
}

const HELP = `
Examples:
  frames completion bash > ~/.local/share/bash-completion/completions/frames
  source <(frames completion zsh)
  frames completion fish | source`

function placesOf(command: Command, path: string): Place[] {
  const help = command.createHelp()
  const commands = help.visibleCommands(command).filter((one) => one.name() !== 'help')
  const options = help.visibleOptions(command)
  const place: Place = {
    path,
    description: command.description(),
    words: [
      ...commands.map((one) => ({ word: one.name(), description: one.description() })),
      ...command.registeredArguments.flatMap(({ argChoices = [] }) =>
        argChoices.map((word) => ({ word, description: '' })),
      ),
      ...options.map(({ long, description }) => ({ word: long!, description })),
    ],
    values: new Map(options.flatMap(({ long, argChoices }) => (argChoices ? [[long!, argChoices]] : []))),
  }
  return [place, ...commands.flatMap((one) => placesOf(one, `${path} ${one.name()}`.trim()))]
}

/** The words that lead to each place, as cases of what bash and zsh share. */
function casesOfPath(places: readonly Place[]): string {
  const paths = places.map(({ path }) => path).filter(Boolean)
  return paths.map((path) => `${quoted(beforeLast(path))}) path=${quoted(path)} ;;`).join('\n      ')
}

/** The pattern of what is known so far and the next word: `accounts|create`. */
function beforeLast(path: string): string {
  const words = path.split(' ')
  return `${words.slice(0, -1).join(' ')}|${words.at(-1)}`
}

function toBash(places: readonly Place[]): string {
  const values = places.flatMap(({ path, values: lists }) =>
    [...lists].map(([option, list]) => `${quoted(`${path}|${option}`)}) words=${quoted(list.join(' '))} ;;`),
  )
  const words = places.map(
    (place) => `${quoted(place.path)}) words=${quoted(place.words.map(({ word }) => word).join(' '))} ;;`,
  )
  return `# bash completion for frames
_frames() {
  local cur=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} path='' words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path|\${COMP_WORDS[i]}" in
      ${casesOfPath(places)}
    esac
  done
  case "$path|$before" in
    ${values.join('\n    ')}
    *) case "$path" in
      ${words.join('\n      ')}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _frames frames
`
}

function toZsh(places: readonly Place[]): string {
  const values = places.flatMap(({ path, values: lists }) =>
    [...lists].map(([option, list]) => `${quoted(`${path}|${option}`)}) words=(${list.map(quoted).join(' ')}) ;;`),
  )
  const words = places.map((place) => {
    const described = place.words.map(({ word, description }) => quoted(`${word}:${description}`))
    return `${quoted(place.path)}) words=(${described.join(' ')}) ;;`
  })
  return `#compdef frames
_frames() {
  local path_='' i
  local -a words_
  for ((i = 2; i < CURRENT; i++)); do
    case "$path_|\${words[i]}" in
      ${casesOfPath(places).replaceAll('path=', 'path_=')}
    esac
  done
  case "$path_|\${words[CURRENT - 1]}" in
    ${values.join('\n    ').replaceAll('words=', 'words_=')}
    *) case "$path_" in
      ${words.join('\n      ').replaceAll('words=', 'words_=')}
    esac ;;
  esac
  _describe frames words_ || _files
}
compdef _frames frames
`
}

function toFish(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, words, values }) => {
    const condition = path === '' ? '__fish_use_subcommand' : seen(path, places)
    return words.map(({ word, description }) => {
      const list = values.get(word)
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`
      const given = list ? ` -x -a ${quoted(list.join(' '))}` : ''
      return `complete -c frames -n ${quoted(condition)} ${what}${given} -d ${quoted(description)}`
    })
  })
  return `# fish completion for frames\n${lines.join('\n')}\n`
}

/** True where a command was typed, and none of its own commands yet. */
function seen(path: string, places: readonly Place[]): string {
  const own = places.filter((place) => beforeLast(place.path).split('|')[0] === path && place.path !== path)
  const names = own.map((place) => place.path.split(' ').at(-1))
  const typed = path.split(' ').map((word) => `__fish_seen_subcommand_from ${word}`)
  const open = names.length > 0 ? [`not __fish_seen_subcommand_from ${names.join(' ')}`] : []
  return [...typed, ...open].join('; and ')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", '’')}'`
}
