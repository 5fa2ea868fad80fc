// Package historytest provides the tests that every [storage.Store] must pass. Run them on a store of your own:
//
//	func TestStore(t *testing.T) {
//		historytest.Run(t, historytest.Suite{
//			New: func(t *testing.T) func() (storage.Store, error) {
//				table := newTable(t)
//				return func() (storage.Store, error) { return OpenStore(table) }
//			},
//		})
//	}
package historytest
