// A kernel of a user's: only its hashes are held, it is never compiled here.
extern "C" __global__ void draw(millrace::Batch batch, float *image, long long *label) {
  auto row = batch.row();
  image[row.element()] = 1.0f;
  if (row.element() == 0) label[0] = row.index();
}
