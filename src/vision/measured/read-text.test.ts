import { expect, test } from 'vitest'
import { joinWords } from './read-text.ts'

test.each([
  [['Available', 'today'], 'Available today'],
  [['あたら', 'し', 'い', 'カメラ', 'の', '登場'], 'あたらしいカメラの登場'],
  [['全', '新', 'Relay', '2', '发', '布'], '全新 Relay 2 发布'],
  [['새로운', '카메라'], '새로운 카메라'],
])('%j is written as in its language', (words, line) => {
  expect(joinWords(words)).toBe(line)
})
