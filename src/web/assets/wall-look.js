// How large a reader likes the pictures, before the wall is painted: nothing moves afterwards.
try {
  const liked = localStorage.getItem('wall-size')
  if (liked) document.documentElement.dataset.size = liked
} catch {
  // A browser that keeps nothing shows the wall as it comes.
}
